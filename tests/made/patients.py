"""A small table of patients as text: sixty that stand together in classes, and two that stand alone."""

HEADER = "mrn,name,age,sex,zip,diagnosis\n"
COMMON = [
    f"M{i:03d},Name {i},{30 + 10 * (i % 2) + i % 3},{'FM'[i % 2]},0213{i % 2},{('001', '250.10', 'V51')[i % 3]}\n"
    for i in range(60)
]
RARE = ["M900,Name 900,77,F,99999,001\n", "M901,Name 901,88,X,88888,001\n"]
