/** Quotas of an account that a stage uses. AWS raises them on request. */
import type { WarmUnits } from './table-load.ts'

/** Quota of Service Quotas. `value`: its default. */
export type Quota = { readonly service: string; readonly code: string; readonly value: number }

/**
 * Quotas of a table also hold for its index. DynamoDB's quotas of an account hold for provisioned tables only, which no stage has. A new
 * account has a concurrency of 10 until AWS raises it.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 * https://docs.aws.amazon.com/kms/latest/developerguide/requests-per-second.html
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html
 */
export const QUOTAS = {
  tableWrites: { service: 'dynamodb', code: 'L-AB614373', value: 40_000 },
  tableReads: { service: 'dynamodb', code: 'L-CF0CBE56', value: 40_000 },
  requests: { service: 'apigateway', code: 'L-8A5B8E43', value: 10_000 },
  concurrency: { service: 'lambda', code: 'L-B99A9384', value: 1_000 },
  signatures: { service: 'kms', code: 'L-2AC98190', value: 1_000 },
  nodes: { service: 'es', code: 'L-6408ABDE', value: 80 },
} as const satisfies Readonly<Record<string, Quota>>

export type QuotaUse = { readonly what: string; readonly used: number; readonly quota: Quota }

/**
 * `requests`, `signatures`: per second. `executions`: concurrent executions of all functions. `nodes`: of the search domain, 0 without one.
 * `exportReads`: read units of the resource table per second during an export, with those of the requests.
 */
export type QuotaParts = {
  readonly warm: WarmUnits
  readonly requests: number
  readonly executions: number
  readonly signatures: number
  readonly nodes: number
  readonly exportReads: number
}

export const quotaUsesOf = ({ warm, requests, executions, signatures, nodes, exportReads }: QuotaParts): readonly QuotaUse[] => [
  { what: 'write units of the resource table, warm', used: warm.writes, quota: QUOTAS.tableWrites },
  { what: 'read units of the resource table, warm', used: warm.reads, quota: QUOTAS.tableReads },
  { what: 'write units of its index, warm', used: warm.index.writes, quota: QUOTAS.tableWrites },
  { what: 'write units of the state table, warm', used: warm.state.writes, quota: QUOTAS.tableWrites },
  { what: 'requests per second at API Gateway', used: requests, quota: QUOTAS.requests },
  { what: 'concurrent executions of Lambda', used: executions, quota: QUOTAS.concurrency },
  { what: 'signatures per second of KMS', used: signatures, quota: QUOTAS.signatures },
  { what: 'nodes of an OpenSearch domain', used: nodes, quota: QUOTAS.nodes },
  { what: 'read units of the resource table during an export', used: exportReads, quota: QUOTAS.tableReads },
]
