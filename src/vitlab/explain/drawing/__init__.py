"""Pictures that are files of their own, by matplotlib (extra `explain`); one kind of picture a file."""
