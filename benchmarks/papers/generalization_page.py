"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Generalized codes: loss and accuracy on public data

**What did not hold** ([all items](../papers.md)):

<!-- findings -->

With the paper's privacy policy, CBA loses more <!-- finding -->.
The method `generalization` starts from both and never loses more than either ([below](#the-method-generalization)).

## Information loss (Figs 2 to 4)

![ILM by k](generalization-figures-2-3.svg)

Means over k = 2, 5, 10, 15, 20, 25. The ratio is the geometric mean of CBA's ILM divided by UGACLIP's.

<!-- losses -->

With the paper's privacy policy CBA loses a few percent less on average: less for disease codes alone, more if all other
codes form one set. By Algorithm 1 CBA merges all it may before it suppresses, and a set of thousands of codes that
becomes one term costs an ILM of nearly 1. With all pairs UGACLIP loses less on average.

![NCP by k](generalization-figure-4.svg)

NCP, which weighs the sizes of terms, is also higher for CBA where a large set becomes one term.

## Diseases preserved (Tables I and II)

A disease is preserved if none of its codes is suppressed or shares a term with other codes: its patients are counted
exactly. Numbers preserved by CBA and by UGACLIP; in parentheses how many more CBA preserves, in percentage points of
the diseases in the data:

<!-- diseases -->

As in the paper, CBA preserves at least as many diseases as UGACLIP in every run, and more in most. In the paper it
satisfies 22.2% (VNEC) and 5.5% (VNECkc) more constraints at k = 5, and 29.4% more on both data sets at k = 10. Our
patients have more codes, so both methods preserve few diseases.

## The method generalization

The settings of the table above with the paper's privacy policy, means over k. Ratios are geometric means of the loss of
`generalization` divided by the smaller loss of CBA and UGACLIP. *Gap*: share of the ILM above a lower bound for all
terms that the policies allow.

<!-- moved -->

The method minimizes ILM; NCP falls with it, but query errors may grow.

## Case counts (Figs 5 and 6)

![ARE by k](generalization-figures-5-6.svg)

Queries are all sets of up to four codes that 5% of the patients have. A term of s codes counts 2^(s-c) / (2^s - 1) for
c queried codes: all subsets are equally likely. A suppressed code counts 0, an error of 1. Unlike in the paper, UGACLIP
answers more precisely in most runs: each code of a large term of CBA counts half of the term's patients, too many for
all but the most frequent code.

## Disassociation and CBA (Figs 13 and 14)

k = 5, all sets of m codes, all patients. With m = 3, CBA on all patients of synpuf did not end within 15 minutes on a
busy machine, so 5,000 of its patients, drawn at random, were measured with m = 2 and 3 (<!-- sampled_on -->). Queries
ask for one to four codes that CBA did not suppress; disassociation answers by the mean of ten reconstructions. *Inverse
size*: a code of a term of s codes counts 1 / s. Errors are those of CBA, CBA by inverse size, and disassociation.
*Random*, as in the paper: 1,000 random sets of codes, most of which occur in no patient and drop out. *Drawn*: 1,000
sets of codes of some patient.

<!-- answers -->

The paper reports errors of disassociation that are on average 6 times smaller with `level:1`, 4.5 times with `sim:10`
and 7.4 times with `sup:1.25`. Ours are smaller by at least as much, except for drawn queries with `sup:1.25` and m = 2
(5.9 to 7.2 times): 4.6 to 60 times for drawn queries, 677 to 4,551 times for random ones. By inverse size,
disassociation is only 1 to 3.3 times better for drawn queries; with `level:1` on diabetes130 it is worse for four codes
and about equal for three.

![ARE by the size of the query, drawn queries](generalization-figure-13.svg)

Disassociation suppresses nothing. CBA suppresses most if the policy leaves few partners, more than in the paper (first
table): nearly all codes of diabetes130 are alone in their category.

![Share of the codes that CBA suppresses](generalization-figure-14.svg)

## Partition

Partition (He and Naughton 2009, PVLDB 2(1), 934-945) generalizes records until k are equal: it protects against
somebody who knows all codes of a patient. CBA has the privacy policy of the same adversary (each complete record) and
no utility policy; disassociation (m = 2) protects against somebody who knows two codes. Same samples. ARE: of all sets
of up to four codes that 5% of the patients have, and of 1,000 drawn queries. `python -m benchmarks.papers.partition`
repeats this section, in some four minutes, and describes the algorithm and our choices. Each result was checked: k
equal records, and each code below one node of its record.

<!-- partition -->

By NCP Partition is better than CBA for the few codes of the diseases unless k is large, and worse for all codes:
patients hardly ever have codes of the same chapters, so most records stay at the root. Partition is a baseline here.
Where all codes of a patient may be known, CBA has a privacy policy for it, `--privacy records`.

## Time

<!-- bars -->

Policy included, on two busy cores. This page omits AA (`--method apriori`), which ends with one term of all codes here.

## How this was measured

Results of `python -m benchmarks.papers.generalization figures`, measured on <!-- day --> (<!-- machine -->;
<!-- seconds --> seconds in all): CBA against UGACLIP, as in Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, and
CBA against disassociation, as in Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), Journal of Biomedical
Informatics 50, 46-61. Every release was verified with its original. [generalization.json](generalization.json) contains
all numbers.

The papers' data are not available. From each of two public data sets two samples of the paper's sizes were drawn: 2,762
patients with as many codes as possible, and 1,335 patients with codes of the 18 diseases, reduced to these codes. The
paper's codes are sparser: 5,830, and 3.1 per patient.

<!-- samples -->

The utility policy is the paper's (`gwas`, codes of 18 diseases). The privacy policies are the paper's, codes recorded
at one visit (claims of synpuf; all codes of a patient of diabetes130), and *all:2*, every pair of codes. By the paper's
Definition 3.2 codes outside the utility policy stay as they are or are suppressed (`--uncovered suppress`, *others
suppressed*); by its introduction they are generalized as one more set (`--uncovered generalize`, *others one set*).
Both are measured.
"""
