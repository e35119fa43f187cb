/**
 * Model of a stage under a load: what each part needs, which settings give it that, what it costs, and which limits it meets. It reads no
 * account.
 */
import { DEFAULT_SHARDS } from '../settings/index-shards.ts'
import type { RateLimits } from '../settings/rate-limits.ts'
import { DEFAULT_SETTINGS, type Settings } from '../settings/settings.ts'
import { NEW_TABLE } from '../settings/table-capacity.ts'
import { DOCUMENTS_PER_SECOND } from './assumptions.ts'
import { concurrencyOf } from './concurrency.ts'
import { type CostPart, costsOf } from './costs.ts'
import { exportLoadOf } from './export-load.ts'
import { type Limit, limitsOf } from './limits.ts'
import { type Load, requestsOf } from './load.ts'
import { rebuildLoadOf } from './rebuild-load.ts'
import { signaturesOf } from './request-work.ts'
import { type SearchLoad, searchLoadOf } from './search-load.ts'
import type { StageParts } from './stage-parts.ts'
import { partitionsOf, shardsOf, storedOf, unitsOf, warmOf } from './table-load.ts'

export type Model = StageParts & {
  readonly limits: readonly Limit[]
  readonly costs: readonly CostPart[]
  readonly settings: ProposedSettings
}

/** Settings that differ from the defaults, as the file of a stage holds them. */
export type ProposedSettings = Partial<Omit<Settings, 'limits'>> & { readonly limits?: Partial<RateLimits> }

export function modelOf(load: Load): Model {
  const [stored, shards, search] = [storedOf(load), shardsOf(load), searchLoadOf(load)]
  // The units of heartbeats depend on the shards, which they hardly change.
  const streamShards = partitionsOf(warmOf(unitsOf(load)), stored.table)
  const parallelizationFactor = search.name === 'demo' ? 1 : factorOf(load, streamShards)
  const units = unitsOf(load, streamShards * parallelizationFactor)
  const warm = warmOf(units)
  const rebuild = rebuildLoadOf(load, shards, search.name)
  const exported = exportLoadOf(load, shards, search.name)
  const concurrency = concurrencyOf(load, {
    ...{ streamShards, parallelizationFactor, rebuildWidth: rebuild.width, exportExecutions: exported.executions },
  })
  const signatures = signaturesOf(requestsOf(load), exported.files)
  const parts: StageParts = {
    ...{ load, units, stored, shards, warm, streamShards, parallelizationFactor, search, concurrency, signatures, rebuild, exported },
  }
  return { ...parts, limits: limitsOf(parts), costs: costsOf(load, parts), settings: settingsFor(parts) }
}

const MAX_FACTOR = 10

/** Returns the batches of one shard that are indexed in parallel. */
const factorOf = ({ writes }: Load, streamShards: number): number =>
  Math.min(MAX_FACTOR, Math.max(1, Math.ceil(writes / streamShards / DOCUMENTS_PER_SECOND)))

/** Part of `limits.rate` that stays free, and the maximum burst of an account with the default quota. */
const HEADROOM = 1.25
const MAX_BURST = 5_000

function settingsFor({ load, shards, warm, search, parallelizationFactor, rebuild, exported }: StageParts): ProposedSettings {
  const more = Object.entries(shards).filter(([type, count]) => count !== (DEFAULT_SHARDS[type] ?? 1))
  const isNew = [warm, warm.index, warm.state].every(({ reads, writes }) => reads === NEW_TABLE.reads && writes === NEW_TABLE.writes)
  const capacity = { ...(isNew ? {} : { warm }), ...(more.length === 0 ? {} : { shards: Object.fromEntries(more) }) }
  const { limits } = DEFAULT_SETTINGS
  const rate = Math.ceil(requestsOf(load) * HEADROOM)
  return {
    ...(search.name === 'demo' ? {} : { search: searchSettings(search) }),
    ...(Object.keys(capacity).length === 0 ? {} : { capacity }),
    ...(rate <= limits.rate ? {} : { limits: { rate, burst: Math.max(limits.burst, Math.min(rate, MAX_BURST)) } }),
    ...(parallelizationFactor === DEFAULT_SETTINGS.parallelizationFactor ? {} : { parallelizationFactor }),
    ...(search.name === 'demo' ? {} : { concurrency: { 'export-step': exported.executions } }),
    ...(rebuild.width === DEFAULT_SETTINGS.rebuildWidth ? {} : { rebuildWidth: rebuild.width }),
  }
}

function searchSettings({ size, shards }: SearchLoad): NonNullable<ProposedSettings['search']> {
  const several = Object.entries(shards).filter(([, count]) => count > 1)
  return { kind: 'domain', size, ...(several.length === 0 ? {} : { shards: Object.fromEntries(several) }) }
}

/** Whether a limit does not fit that AWS does not raise. */
export const isTooLarge = ({ limits }: Model): boolean => limits.some(({ fits, isRaised }) => !fits && !isRaised)
