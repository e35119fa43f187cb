/** Quotas that a stage with given settings needs. */
import type { FunctionName } from '../../lambdas/functions/functions.ts'
import { nodesOf } from '../settings/domain-sizes.ts'
import type { Settings } from '../settings/settings.ts'
import { NEW_TABLE, warmIndexOf, warmStateOf } from '../settings/table-capacity.ts'
import { type Concurrency, concurrencyOf, executionsOf } from './concurrency.ts'
import { exportReadsOf } from './export-load.ts'
import { DEFAULT_MIX, type Load } from './load.ts'
import { type QuotaUse, quotaUsesOf } from './quotas.ts'
import { signaturesOf } from './request-work.ts'
import { partitionsOf, type WarmUnits } from './table-load.ts'

/**
 * Returns the use of each quota when clients send as many requests as `limits.rate` allows, while one export runs. A search cluster outside the
 * stage uses none.
 */
export function stageQuotasOf(settings: Settings): readonly QuotaUse[] {
  const requests = settings.limits.rate
  const warm = warmUnitsOf(settings.capacity.warm)
  const concurrency = concurrencyOf(loadOf(requests), {
    ...{ ...settings, streamShards: partitionsOf(warm, 0), exportExecutions: settings.exportWriters },
  })
  return quotaUsesOf({
    ...{ warm, requests, executions: executionsOf(withReserved(concurrency, settings.concurrency)) },
    signatures: signaturesOf(settings.access === 'token' ? requests : 0),
    nodes: nodesOf(settings.search).nodes,
    exportReads: exportReadsOf(warm, settings.exportWriters),
  }).filter(({ used }) => used > 0)
}

const warmUnitsOf = (warm: Settings['capacity']['warm']): WarmUnits => ({
  ...(warm ?? NEW_TABLE),
  index: warmIndexOf(warm) ?? NEW_TABLE,
  state: warmStateOf(warm) ?? NEW_TABLE,
})

/** Shares of the requests in lib/docs/cost.md. */
const SHARES = { reads: 0.7, searches: 0.2, writes: 0.1 } as const

const loadOf = (requests: number): Load => ({
  ...{ resources: 0, reads: requests * SHARES.reads, searches: requests * SHARES.searches, writes: requests * SHARES.writes },
  mix: DEFAULT_MIX,
})

/** Reserved executions are not available to other functions, even if they are idle, and the function gets no more. */
function withReserved(concurrency: readonly Concurrency[], reserved: Settings['concurrency']): readonly Concurrency[] {
  const shared = concurrency.filter(({ name }) => reserved[name] === undefined)
  return [...shared, ...Object.entries(reserved).map(([name, count]) => ({ name: name as FunctionName, count }))]
}
