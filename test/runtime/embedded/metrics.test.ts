/** The text that Prometheus reads. */
import { describe, expect, it } from '@jest/globals'
import type { RequestRecord } from '../../../lambdas/ports/execution/request-log.ts'
import { Metrics, serveMetrics } from '../../../lambdas/runtime/embedded/metrics.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'

const RECORD: RequestRecord = {
  at: 0,
  requestId: 'r',
  interaction: 'read',
  status: 200,
  duration: 3,
  own: 1,
  calls: { index: 2 },
  bytes: 100,
}

describe('metrics of requests', () => {
  it('count requests, seconds, waits and bytes', async () => {
    const metrics = new Metrics({ fhir_index_lag_seconds: { help: 'Lag of the index.', read: async () => 4 } })
    for (const duration of [1, 3, 20_000]) metrics.observe({ ...RECORD, duration })
    metrics.observe({ ...RECORD, interaction: 'create', status: 422, calls: { store: 500 } })
    const lines = (await metrics.text()).split('\n')
    expect(lines.filter((line) => !/^#|_bucket/.test(line))).toEqual([
      'fhir_requests_total{interaction="read",status="200"} 3',
      'fhir_requests_total{interaction="create",status="422"} 1',
      'fhir_request_duration_seconds_sum{interaction="read"} 20.004',
      'fhir_request_duration_seconds_count{interaction="read"} 3',
      'fhir_request_duration_seconds_sum{interaction="create"} 0.003',
      'fhir_request_duration_seconds_count{interaction="create"} 1',
      'fhir_wait_seconds_total{dependency="index"} 0.006',
      'fhir_wait_seconds_total{dependency="store"} 0.5',
      'fhir_response_bytes_total 400',
      'fhir_index_lag_seconds 4',
      '',
    ])
    const bucketsOf = (interaction: string) =>
      lines.filter((line) => line.includes('_bucket') && line.includes(interaction)).map((line) => line.split(' ')[1])
    expect(bucketsOf('read')).toEqual(['1', '1', '2', '2', '2', '2', '2', '2', '2', '2', '2', '2', '2', '3'])
    expect(lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ').slice(2).join(' '))).toEqual([
      'fhir_requests_total counter',
      'fhir_request_duration_seconds histogram',
      'fhir_wait_seconds_total counter',
      'fhir_response_bytes_total counter',
      'fhir_index_lag_seconds gauge',
    ])
  })

  it('reject a port that is in use', async () => {
    const metrics = new Metrics({})
    const server = await serveMetrics(metrics, 0)
    runAtEnd(() => server.close())
    const { port } = server.address() as { readonly port: number }
    await expect(serveMetrics(metrics, port)).rejects.toThrow(
      `The port ${port} of the metrics is taken: choose another with FHIR_METRICS_PORT`,
    )
  })
})
