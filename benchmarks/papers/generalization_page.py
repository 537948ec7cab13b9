"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Generalized code sets on public data

What `python -m benchmarks.papers.generalization figures` measured on <!-- day --> (<!-- machine -->; <!-- seconds -->
seconds in all): CBA beside UGACLIP, as in Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, and CBA beside
disassociation, as in Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), Journal of Biomedical Informatics 50,
46-61. Every release was verified, against the original as well. The numbers are in
[generalization.json](generalization.json).

The paper says that CBA loses 2.5 times less than UGACLIP. Here, with its privacy policy, CBA loses more
<!-- finding -->. The method `generalization` begins with both and never loses more than either
([below](#the-method-generalization-beside-both)).

## The data

The data of the papers are not at hand. Of two public data sets 2,762 patients were taken such that as many codes as
possible occur among them (of each code, the rarest first, a patient with few codes; the others drawn at random), and
1,335 patients with codes of the 18 diseases, of whom these codes alone are kept: as many patients as the paper has.
Its codes are sparser: 5,830, and 3.1 a patient.

<!-- samples -->

The utility policy is the paper's: the codes of 18 diseases that genome-wide association studies look into (`gwas`).
The privacy policy is the paper's, too: codes recorded at one visit (the claims of synpuf; of diabetes130, where
visits are not told apart, all codes of a patient). Beside it stands *all:2*, every pair of codes.

What becomes of codes outside the utility policy the paper leaves open. Its Definition 3.2 lets a term hold codes of
one constraint only, so that other codes stay as they are or are suppressed (`--uncovered suppress`); its introduction
says that they are generalized (`--uncovered generalize`: they are one more set). Both are measured, as
*others suppressed* and *others one set*.

## Diseases preserved (Tables I and II)

Diseases of which nothing is suppressed and whose codes share no term with others, so that their patients are counted
exactly. k = 5:

<!-- table_1 -->

k = 10:

<!-- table_2 -->

CBA preserves at least as many as UGACLIP in every run, and more in most, as in the paper. Both preserve fewer than
there: our patients have more codes, and many of our diseases have codes that fewer than k patients have.

## Information loss (Figs 2 to 4)

![ILM by k](generalization-figures-2-3.svg)

The mean over k = 2, 5, 10, 15, 20, 25; the ratio is the geometric mean of CBA's ILM divided by UGACLIP's.

<!-- losses -->

With the privacy policy of the paper, CBA loses less on average: by a few percent, and not orders of magnitude less.
It loses less for the codes of diseases alone, and not where all other codes are one more set: CBA merges all it may
before it suppresses, as its Algorithm 1 says, and a set of thousands of codes that becomes one term costs an ILM of
nearly 1. UGACLIP merges the term that it fixed until the set at hand is safe, and so leaves that set in several
terms. With all pairs the same happens from small k on, and UGACLIP loses less on average. The exceptions with the
paper's policy:

<!-- exceptions -->

![NCP by k](generalization-figure-4.svg)

NCP weighs the sizes of terms and not the meaning of codes. It, too, is higher for CBA where a large set becomes one
term.

## The method generalization beside both

The same settings, with the privacy policy of the paper. Means over k; a ratio is the geometric mean of what the method
`generalization` loses divided by the less of what CBA and UGACLIP lose. *Gap*: how much of the ILM is above a lower
bound for all terms that the policies allow.

<!-- moved -->

It keeps ILM low, and NCP falls with it. Queries need not be answered better: terms that lose least are not those that
count the few frequent codes of these queries best.

## Case counts (Figs 5 and 6)

![ARE by k](generalization-figures-5-6.svg)

Queries are all sets of up to four codes that 5 % of the patients have. A term of s codes of which c are asked for
counts 2^(s-c) / (2^s - 1): all subsets are equally likely. A suppressed code counts 0, which is an error of 1. Here
UGACLIP's answers are closer in most runs, which is not so in the paper: what UGACLIP suppresses is wrong by 1 at
most, and what is in a large term is counted for half of all its patients, which is wrong by more for every code but
the most frequent.

## Disassociation beside CBA (Figs 13 and 14)

k = 5, all sets of m codes, on all patients of both data sets. Queries ask for one to four codes that CBA did not
suppress; answers of disassociation are means of ten reconstructions. *Random*, as in the paper: 1,000 sets of codes
drawn at random; most sets of several occur in nobody and drop out.

<!-- random -->

*Drawn*: 1,000 sets of codes that some patient has.

<!-- drawn -->

The paper reports errors that are 6 times smaller for disassociation with `level:1`, 4.5 times with `sim:10` and 7.4
times with `sup:1.25`, on average. By the reading above, ours are smaller by as much or more, but for drawn queries
with `sup:1.25` (5.9 and 7.2 times). If a code of a term of s is there with one chance in s (*inverse size*), answers
of CBA are closer: for drawn queries disassociation is then 1 to 3 times better only, and with `level:1` on
diabetes130 worse for four codes, and about as good for three. By size, with `level:1`:

<!-- sizes -->

![ARE by the size of the query, drawn queries](generalization-figure-13.svg)

Disassociation suppresses nothing. CBA suppresses most codes where the policy leaves few to merge with (of the codes
of diabetes130 nearly all are alone in their category):

![Share of the codes that CBA suppresses](generalization-figure-14.svg)

## Time

<!-- bars -->

The works with a bar, policy included; on two cores that did other work, too. AA (`--method apriori`) is left out of
this page: on these data it ends with one term of all codes.
"""
