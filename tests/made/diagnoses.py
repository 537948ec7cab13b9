"""Diagnoses of 33 patients, three of whom have codes that nobody else has, as they stand in files."""

RECORDS = [
    *(["250.00", "401.9", "V58.66"] for _ in range(9)),
    *(["250.00", "401.9"] for _ in range(8)),
    *(["250.01", "401.9", "E936.1"] for _ in range(7)),
    *(["001", "250.01"] for _ in range(6)),
    ["001", "008.45"],
    ["250.00", "008.45", "401.9"],
    ["250.01", "401.9", "042"],
]
IDS = [f"P{number:03d}" for number in range(len(RECORDS))]
WIDE = "id,codes\n" + "".join(f"{i},{' '.join(codes)}\n" for i, codes in zip(IDS, RECORDS))
LONG = "id,code\n" + "".join(f"{i},{code}\n" for i, codes in zip(IDS, RECORDS) for code in codes)
