"""Each library's way to describe a model beside its weights, read and written."""
