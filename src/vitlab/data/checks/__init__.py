"""What is wrong, or odd, with data, before a training finds out: one file a kind of finding.

`finding` says what there is to find; `tree` walks a folder (`links`, `names` on the way), `look` opens one file
(`signature` knows it by its first bytes) and `sight` one picture; `copies` and `near` compare what was seen by its
hashes, `balance` counts; `outcome` is all of it together, and `everything` goes through the data.

An error here and an image that training leaves out are the same thing, since both are what `decode` refuses.
"""
