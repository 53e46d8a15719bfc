#include "harness/store/forms/sizing.h"

#include "harness/store/json/value.h"
#include "harness/verdict/search/sizing.h"

static json_t *from_cores(const struct sizing_curves *curves, size_t point)
{
    return point < curves->n ? json_integer(curves->alone[point].cores) : json_null();
}

static json_t *from_points(const struct sizing_curves *curves)
{
    json_t *points = json_array();
    for (size_t i = 0; points && i < curves->n; i++)
        (void)json_array_append_new(
            points, json_pack("{s:i, s:o, s:o, s:o, s:o}", "cores", (int)curves->alone[i].cores,
                              "alone", json_value_real(curves->alone[i].rate), "all",
                              json_value_real(curves->all[i].rate), "predicted",
                              json_value_real(curves->predicted[i]), "error",
                              json_value_real(curves->error[i])));
    return points;
}

json_t *sizing_to_json(const struct analysis *analysis)
{
    struct sizing_curves curves;
    (void)sizing_read(analysis, &curves);
    return json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "workers", (int)curves.workers, "points",
        from_points(&curves), "knee", from_cores(&curves, curves.knee), "enough",
        from_cores(&curves, curves.enough), "knee_all", from_cores(&curves, curves.knee_all),
        "enough_all", from_cores(&curves, curves.enough_all), "median_error",
        json_value_real(curves.median_error), "worst_error", json_value_real(curves.worst_error));
}
