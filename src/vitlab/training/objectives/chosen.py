"""Which objective a plan asks for."""

from vitlab.data.feed.feed import Feed
from vitlab.training.objectives.distilled import Distilled
from vitlab.training.objectives.objective import Objective
from vitlab.training.objectives.supervised import Supervised
from vitlab.training.plan import Plan
from vitlab.training.start import reopen
from vitlab.training.teacher import Remembering, Teacher


def objective(plan: Plan, train: Feed) -> Objective:
    """The labels alone, or with a teacher, who has answered for all training images where the plan says so."""
    if plan.teacher is None:
        return Supervised(plan.recipe.smoothing)
    teacher = Teacher(reopen(plan.teacher), plan.data.classes, plan.preprocess, plan.machine.precision)
    asked = Remembering(teacher, train, plan.machine.device) if plan.teacher.remembered else teacher
    return Distilled(asked, plan.recipe.distill, plan.recipe.smoothing)
