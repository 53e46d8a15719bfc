/*
 * Student's t distribution (Student 1908). Degrees of freedom may be fractional, as for a moderated
 * variance. Uses the continued fraction of the incomplete beta function (Abramowitz and Stegun
 * 1964, 26.5.8 and 26.7.1), evaluated after Lentz (1976). Pure.
 */
#ifndef CONTEND_LIB_STUDENT_H
#define CONTEND_LIB_STUDENT_H

/* P(T > t), df > 0. Example: t 2.228139 at df 10 is 0.025. */
double student_tail(double t, double df);

/* The t >= 0 with P(T > t) = tail, 0 < tail <= 0.5. Example: 0.025 at df 10 is 2.228139. */
double student_quantile(double tail, double df);

#endif
