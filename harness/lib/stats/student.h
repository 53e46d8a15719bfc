/*
 * Student's t distribution (Student 1908), of degrees of freedom that need not be whole, as where a
 * variance is moderated. By the incomplete beta function's continued fraction (Abramowitz and
 * Stegun 1964, 26.5.8 and 26.7.1), evaluated after Lentz (1976). Pure.
 */
#ifndef CONTEND_LIB_STATS_STUDENT_H
#define CONTEND_LIB_STATS_STUDENT_H

/* P(T > t), df > 0. Example: 2.228139 at 10 is 0.025. */
double student_tail(double t, double df);

/* The t >= 0 with that P(T > t), 0 < tail <= 0.5. Example: 0.025 at 10 is 2.228139. */
double student_quantile(double tail, double df);

#endif
