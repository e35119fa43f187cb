/**
 * Metric for the share of requests that are answered 401 or 403, and of matches of members that are answered 429, written from the access log.
 * API Gateway itself counts all statuses from 400 to 499 together, and many requests for a missing resource are normal.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
import { FilterPattern, type ILogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { METRIC_NAMESPACE } from '../../lambdas/runtime/aws/log.ts'
import { REFUSED_METRIC } from './watch.ts'

/**
 * Two filters write one metric, so that its average is the share. The access log holds all fields as strings. A match is answered 429 if its
 * client guesses at members. Requests for `/health` do not count, because they need no permission.
 */
const FILTERS = {
  Refused: {
    condition: '($.status = "401" || $.status = "403" || $.status = "429") && ($.status != "429" || $.route = "*-match")',
    value: '1',
  },
  Accepted: {
    condition: '$.status != "401" && $.status != "403" && ($.status != "429" || $.route != "*-match") && $.route != "/health"',
    value: '0',
  },
} as const

/** `logGroup`: access log with the fields `stage`, `status` and `route`. */
export function measureRefusedRequests(scope: Construct, logGroup: ILogGroup): void {
  for (const [id, { condition, value }] of Object.entries(FILTERS)) {
    new MetricFilter(scope, id, {
      logGroup,
      filterPattern: FilterPattern.literal(`{ $.stage = "*" && ${condition} }`),
      metricNamespace: METRIC_NAMESPACE,
      metricName: REFUSED_METRIC,
      metricValue: value,
      dimensions: { Stage: '$.stage' },
    })
  }
}
