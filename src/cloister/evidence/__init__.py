"""Suggest the role of a column from evidence: first its content, then its name and label.

`roles` suggests a role for each column of a table. A column of which neither content, name nor label gives evidence is
undecided. No message made here contains a value of the data.
"""
