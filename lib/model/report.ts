/** The model as text: a table, the settings to write down, and the limits. */
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import { COUNT_MS, DEMO_REQUESTS, DOCUMENTS_PER_SECOND, EXPORTED_PER_SECOND } from './assumptions.ts'
import type { Limit } from './limits.ts'
import { requestsOf } from './load.ts'
import { isTooLarge, type Model } from './model.ts'
import { PRICE_PAGES, PRICES_REGION } from './prices.ts'
import { REQUEST_WORK } from './request-work.ts'
import type { SearchLoad } from './search-load.ts'

export function formatModel(model: Model): string {
  const { load, settings, limits, costs } = model
  const rates = `${count(load.writes)} writes, ${count(load.reads)} reads and ${count(load.searches)} searches per second`
  return [
    `${count(load.resources)} resources, ${rates}`,
    section('Capacity', columns(capacityRows(model))),
    section('Settings: write these into .fhir/STAGE.settings.json', [JSON.stringify(settings, null, 2)]),
    section('Limits', columns([['used', 'limit', '', ''], ...limits.map(limitRow)])),
    section('Dollars of a month with this load at all times', columns(costRows(costs))),
    section('Assumed, not measured on AWS', assumptions()),
    '',
    isTooLarge(model) ? 'This load does not fit.' : 'This load fits.',
    '',
  ].join('\n')
}

const section = (title: string, lines: readonly string[]): string => ['', title, ...lines].join('\n')

type Row = readonly string[]

function capacityRows({ load, units, stored, shards, streamShards, search, concurrency, rebuild, exported }: Model): readonly Row[] {
  const pair = ({ writes, reads }: { readonly writes: number; readonly reads: number }): string =>
    `${count(writes)} write, ${count(reads)} read units per second`
  return [
    ['requests', `${count(requestsOf(load))} per second`],
    ['resource table', pair(units.table)],
    ['its index', pair(units.index)],
    ['state table', `${pair(units.state)} (audit records and beats; cached reads are not counted)`],
    ['index partitions', partitions(shards)],
    ['stored', `${gigabytes(stored.json)} of JSON: ${gigabytes(stored.table)} in the table, ${gigabytes(stored.index)} in its index`],
    ['stream', `${count(streamShards)} shards`],
    [
      'search domain',
      `${search.name}, ${domainNodes(search)}: ${gigabytes(search.needed)} needed after merges, ${gigabytes(search.unmerged)} before`,
    ],
    ['search shards', partitions(search.shards)],
    ['concurrency', concurrency.map(({ name, count: number }) => `${name} ${count(number)}`).join(', ')],
    [
      'rebuild of all types',
      `${hours(rebuild.hours)}, ${dollars(rebuild.dollars)}: ${count(Math.ceil(rebuild.planMinutes))} minutes to plan, executions of at most ${count(rebuild.events)} events: ${count(rebuild.executions)}`,
    ],
    [
      'export of everything',
      `${hours(exported.hours)}, ${dollars(exported.dollars)} without downloads: ${count(Math.ceil(exported.planMinutes))} minutes to plan, ${count(exported.files)} files`,
    ],
  ]
}

const domainNodes = ({ shape: { instanceType, count: nodes, disk, masters } }: SearchLoad): string =>
  `${count(nodes)} × ${instanceType} with ${disk} GB${masters === undefined ? '' : `, ${masters.count} masters ${masters.instanceType}`}`

/** Names the types that have the same number of partitions or shards together, the largest number first. */
const partitions = (shards: IndexShards): string =>
  [...Map.groupBy(Object.keys(shards), (type) => shards[type]!)]
    .toSorted(([a], [b]) => b - a)
    .map(([number, types]) => `${number} for ${types.join(', ')}`)
    .join('; ')

const limitRow = ({ what, used, limit, isRaised, fits }: Limit): Row => [
  ...[count(used), count(limit), percent(used / limit), what],
  fits ? 'fits' : isRaised ? 'request a higher quota' : 'does not fit',
]

const costRows = (costs: Model['costs']): readonly Row[] => [
  ...costs.map(({ part, dollars: each }) => [part, dollars(each)]),
  ['all', dollars(totalOf(costs))],
]

function assumptions(): readonly string[] {
  const ms = (['create', 'update', 'read', 'search'] as const).map((name) => `${name} ${REQUEST_WORK[name].ms} ms`)
  return [
    `  Durations: ${ms.join(', ')}. A query that counts entries takes ${COUNT_MS} ms.`,
    `  A function indexes ${count(DOCUMENTS_PER_SECOND)} documents and exports ${count(EXPORTED_PER_SECOND)} resources per second.`,
    `  A demo domain takes ${DEMO_REQUESTS} writes and searches per second. Processors of larger domains are not modelled.`,
    `  limits.perAddress depends on the number of addresses, and is not proposed.`,
    `  Prices: lists of ${PRICES_REGION}, read from ${oldestPrice()} on (lib/model/prices.ts).`,
  ]
}

/** Aligns the columns. Those that hold numbers only are aligned on the right. */
function columns(rows: readonly Row[]): readonly string[] {
  const all = Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, i) => {
    const cells = rows.map((row) => row[i] ?? '')
    const width = Math.max(...cells.map((cell) => cell.length))
    return cells.map((cell) => (cells.every((each) => NUMERIC.test(each)) ? cell.padStart(width) : cell.padEnd(width)))
  })
  return rows.map((_, i) => `  ${all.map((cells) => cells[i]).join('  ')}`.trimEnd())
}

/** A number with its unit, or a heading of numbers. */
const NUMERIC = /^(?:\$?[\d,.]+(?: %)?|used|limit|)$/

export const count = (number: number): string =>
  (Number.isInteger(number) || number >= 100 ? Math.round(number) : Number(number.toPrecision(2))).toLocaleString('en')
export const gigabytes = (number: number): string => `${count(number)} GB`
const hours = (number: number): string => (number < 1 ? `${count(Math.ceil(number * 60))} minutes` : `${count(number)} hours`)
export const dollars = (number: number): string => `$${number < 100 ? number.toFixed(2) : Math.round(number).toLocaleString('en')}`
export const percent = (part: number): string => `${Math.round(part * 100)} %`

export const totalOf = (costs: Model['costs']): number => costs.reduce((sum, each) => sum + each.dollars, 0)

/** Returns the date of the price that was read first. */
export const oldestPrice = (): string => PRICE_PAGES.map(({ read }) => read).toSorted()[0]!
