"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Trajectories on public data

What `python -m benchmarks.papers.trajectories figures` measured on <!-- day --> (<!-- machine -->; <!-- seconds -->
seconds in all, beside other work: seconds by run are no more than upper ends), after Tamersoy, Loukides, Nergiz,
Saygin, Malin (2012), IEEE Transactions on Information Technology in Biomedicine 16(3). The numbers are in
[trajectories.json](trajectories.json).

## The data (Table I)

The data of the paper are not at hand. Of synpuf (inpatient claims of three years) the 50 codes that most patients
have were kept, and the paper's four (250, 272, 401, 724), and as many patients drawn as the paper has; beside them
stands all of diabetes130.

<!-- samples -->

In the paper a patient has three distinct ages or more; here nearly all pairs of a patient are of one age or two.
Codes are generalized by ICD-9-CM, ages to 5, 10 and 20 years, 90 and over together. All patients are compared with
each other.

## What is lost (Fig. 6 and Appendix A)

ILM and ALM as the paper accumulates them, by A-GS:

<!-- appendix -->

![ILM and ALM by k](trajectories-figure-6.svg)

The trend of Appendix A holds, and more strongly: the data of four codes lose a fifth to a quarter of what those of 50
lose (in the paper a half), and a small sample of them twice as much as the large one (in the paper half as much
again).

Baseline and A-GS, codes and ages together:

<!-- baseline -->

By the paper's measure A-GS is below Baseline at every k on all data, by 14 to 17 % with 50 codes, and by 10 to 29 %
with four. It is not *far* below, as in the paper, where Baseline suppresses nearly everything. Two things are
different here. Pairs of one age are sorted by code, as they must be if the order is not to tell who came first: then
pairs with the same index are often the same code. With the codes of one age in random order Baseline loses 0.72
instead of 0.51 at k = 2. And hardly any patient has many ages, so that ages that are matched by index are near.

## The cost that is minimized

The paper counts what a merged pair loses further once, although every patient of the cluster suffers it. Then
suppressing a pair of four patients seems as cheap as suppressing one of a single patient, and A-GS suppresses: from k
= 10 on, with 50 codes, it is no better than Baseline by the exact loss (the mean over original pairs of what became
of each; 1 if suppressed). `--cost exact` weighs a merged pair by its patients:

<!-- costs -->

It never loses more by the exact loss, and from k = 5 on much less: 21 to 32 % with 50 codes. At k = 2 the two are the
same.

## Answers (Fig. 7)

Average relative error of the number of patients who have some (code, age) pairs; all sets of up to four pairs that 1
% of the patients have.

![AvgRE by k](trajectories-figure-7.svg)

<!-- answers -->

All errors are below 1, four codes are answered better than 50, and many patients better than few, as in the paper.

A released pair is spread over the codes that the release contains, evenly (Appendix B spreads it over the domain, which
a recipient does not have). So the error also depends on which codes the release still has: with 50 codes it does not
grow evenly with k.

Not as in the paper: with its cost A-GS answers *worse* than Baseline in 6 of the 12 runs, though its loss by the
paper's measure is lower in all of them. With the exact cost it answers better than Baseline in 10 of the 12 (by 2 to
31 %; worse at k = 10 with 50 codes and at k = 5 with four). Against the paper's cost the exact one loses no more in any
of the 16 runs by the exact loss, but answers worse in 4 of them: at k = 5 with four codes and on diabetes130, and at
k = 10 with 50 codes. So the paper's cost stays the default, which repeats the paper, and `--cost exact` is advised from
k = 5 on where answers about few codes matter.

## Weights (Fig. 8)

k = 2, 50 codes. Whoever needs ages gives them weight, and the loss goes to the codes.

![Losses by the weight of codes](trajectories-figure-8.svg)

## Time

<!-- bars -->

Generated patients (like those of synpuf with 50 codes: older or younger, pairs left out and put in), k = 5, in blocks
of like length and content; one size a process:

<!-- scale -->

Blocks do not lose more by the exact loss: patients are compared with patients of as many pairs.
"""
