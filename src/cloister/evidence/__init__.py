"""What a column holds, judged by its content first, then by its name and label; and the role that this suggests.

`roles` suggests a role for each column of a table. A column of which neither content, name nor label gives evidence is
undecided. No message made here contains a value of the data.
"""
