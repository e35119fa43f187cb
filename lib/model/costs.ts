/** Costs of a month of 30 days in which the load never stops, at list prices. Alarms, metrics and downloads of exports are not included. */
import type { DomainNodes } from '../settings/domain-sizes.ts'
import { DEFAULT_SETTINGS } from '../settings/settings.ts'
import { DOCUMENTS_PER_SECOND } from './assumptions.ts'
import { type Load, requestsOf } from './load.ts'
import { FIREWALL_RULES, FREE, PRICES, PRICES_OF_NODES, TIERS, tieredPrice } from './prices.ts'
import { AUDIT_KB, AUDIT_MONTHS, LOG_KB, REQUEST_WORK } from './request-work.ts'
import type { SearchLoad } from './search-load.ts'
import type { StoredGigabytes, TableUnits } from './table-load.ts'

const SECONDS = 30 * 24 * 3_600
const MILLION = 1e6

export type CostPart = { readonly part: string; readonly dollars: number }
type Used = { readonly units: TableUnits; readonly stored: StoredGigabytes; readonly search: SearchLoad }

export function costsOf(load: Load, { units, stored, search }: Used): readonly CostPart[] {
  const requests = (requestsOf(load) * SECONDS) / MILLION
  const rows: Readonly<Record<string, number>> = {
    'API Gateway': tieredPrice(TIERS.api, requests),
    'CloudFront and firewall': frontOf(load, requests, search.name),
    'Functions of requests': functionsOf(load, requests),
    'Function indexer': indexerOf(load),
    'Units of DynamoDB': unitsPrice(units),
    'Stored data, with recovery': storagePrice(stored, requests),
    'Logs of functions': tieredPrice(TIERS.log, requests * LOG_KB),
    'Search nodes and disks': searchPrice(search),
    // One key encrypts, one signs links to export files, one signs tokens.
    'Keys and secret': 3 * PRICES.key + PRICES.secret,
  }
  return Object.entries(rows).map(([part, dollars]) => ({ part, dollars }))
}

const REQUESTS = ['read', 'search', 'create', 'update'] as const

/** Returns the requests per second of each interaction. */
export const ratesOf = ({ reads, searches, writes, mix }: Load): Readonly<Record<(typeof REQUESTS)[number], number>> => ({
  ...{ read: reads, search: searches, create: writes * mix.creates, update: writes * (1 - mix.creates) },
})

const sumOf = (load: Load, value: (name: (typeof REQUESTS)[number]) => number): number =>
  REQUESTS.reduce((sum, name) => sum + ratesOf(load)[name] * value(name), 0)

function frontOf(load: Load, requests: number, size: SearchLoad['name']): number {
  const gigabytes = (sumOf(load, (name) => REQUEST_WORK[name].answer) * SECONDS) / MILLION
  return (
    Math.max(0, requests - FREE.requests) * PRICES.cloudFront +
    tieredPrice(TIERS.transfer, Math.max(0, gigabytes - FREE.gigabytes)) +
    requests * PRICES.firewall +
    PRICES.firewallAlone +
    FIREWALL_RULES[size === 'demo' ? 'demo' : 'production'] * PRICES.firewallRule
  )
}

const searchPrice = ({ shape }: SearchLoad): number =>
  priceOfNodes(shape) + shape.count * shape.disk * PRICES.disk + (shape.masters === undefined ? 0 : priceOfNodes(shape.masters))

const priceOfNodes = ({ instanceType, count }: DomainNodes): number => count * PRICES_OF_NODES[instanceType]!

function functionsOf(load: Load, requests: number): number {
  const gigabyteSeconds = sumOf(load, (name) => (REQUEST_WORK[name].gigabytes * REQUEST_WORK[name].ms) / 1_000) * SECONDS
  return requests * PRICES.invocation + tieredPrice(TIERS.computing, gigabyteSeconds)
}

/** Records come in batches, so calls cost little. */
const indexerOf = ({ writes }: Load): number =>
  ((writes * SECONDS) / DOCUMENTS_PER_SECOND) * (DEFAULT_SETTINGS.memory.worker / 1_024) * PRICES.computing

function unitsPrice(units: TableUnits): number {
  const all = (kind: 'reads' | 'writes'): number => Object.values(units).reduce((sum, each) => sum + each[kind], 0)
  return ((all('writes') * PRICES.writeUnit + all('reads') * PRICES.readUnit) * SECONDS) / MILLION
}

/** The recovery of a table does not include its index, and has no free tier. */
function storagePrice({ table, index }: StoredGigabytes, requests: number): number {
  const inTables = table + requests * AUDIT_KB * AUDIT_MONTHS
  return Math.max(0, inTables + index - FREE.stored) * PRICES.table + inTables * PRICES.recovery
}
