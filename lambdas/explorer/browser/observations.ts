/** Observations by code: groups of a grouped search, values as text, and series of numbers for plots. */
import { codeableConceptText } from './datatypes/codeable-concept.ts'
import { dateText } from './datatypes/date-time.ts'
import { quantityText, rangeText } from './datatypes/quantity.ts'
import { shortText } from './datatypes/value.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from './json.ts'

/** Observations of one code. `size`: how many there are; `resources`: the newest of them, the newest first. */
export type Group = { readonly code: string; readonly size: number; readonly title: string; readonly resources: readonly Tree[] }

/** Elements of an Observation that the chart shows. */
export const OBSERVATION_ELEMENTS = 'status,code,effective,issued,value,dataAbsentReason,interpretation,referenceRange,component,hasMember'

/**
 * Returns the groups of a search with `_group=code:code`, in the order of the server. An Observation with several codings is in several
 * groups. Groups with the same resources are returned once.
 */
export function groupsOf(bundle: Tree): readonly Group[] {
  const found = new Map<string, { readonly size: number; readonly resources: Tree[] }>()
  for (const { resource, search } of treesOf(bundle.entry)) {
    const parts = treesOf(isTree(search) ? search.extension : undefined).flatMap(({ extension }) => treesOf(extension))
    const code = textOf(parts.find(({ url }) => url === 'key')?.valueString)
    if (code === undefined || !isTree(resource)) continue
    const group = found.get(code)
    if (group === undefined) found.set(code, { size: Number(parts.find(({ url }) => url === 'size')?.valueInteger), resources: [resource] })
    else group.resources.push(resource)
  }
  const groups = [...found].map(([code, { size, resources }]) => ({ code, size, resources, title: titleOf(resources[0]!) || code }))
  return [...new Map(groups.map((group) => [membersOf(group), group] as const).reverse()).values()].reverse()
}

const membersOf = ({ size, resources }: Group): string => [size, ...resources.map(({ id }) => id)].join(' ')

const titleOf = ({ code }: Tree): string => (isTree(code) ? codeableConceptText(code) : '')

/** Returns the search for all Observations of the group, the newest first. `patient`: id, percent-encoded. */
export function searchOf({ code, resources }: Group, patient: string): string {
  const concept = resources[0]?.code
  const coding = treesOf(isTree(concept) ? concept.coding : undefined).find((each) => each.code === code)
  const system = textOf(coding?.system)
  const token = [...(system === undefined ? [] : [system]), code].map(escaped).join('|')
  return `/Observation?patient=${patient}&code=${encodeURIComponent(token)}&_sort=-date`
}

/** Returns the search for the Observations that have the code of no group, the newest first. */
export function searchWithout(groups: readonly Group[], patient: string): string {
  const codes = groups.map(({ code }) => escaped(code)).join(',')
  return `/Observation?patient=${patient}${codes === '' ? '' : `&code:not=${encodeURIComponent(codes)}`}&_sort=-date`
}

/** Returns the text as a part of a search value. https://hl7.org/fhir/R4/search.html#escaping */
const escaped = (text: string): string => text.replace(/([\\,$|])/g, '\\$1')

/** Whether the Observation was recorded by mistake, so that its value must not be used. */
export const isMistake = ({ status }: Tree): boolean => status === 'entered-in-error'

/** Returns the newest Observation that is no mistake, or the newest of all. */
export const newestOf = (resources: readonly Tree[]): Tree => resources.find((each) => !isMistake(each)) ?? resources[0]!

/** Returns the date or time of the Observation as it is written. */
export function momentOf({ effectiveDateTime, effectiveInstant, effectivePeriod, issued }: Tree): string | undefined {
  const period = isTree(effectivePeriod) ? (effectivePeriod.start ?? effectivePeriod.end) : undefined
  return textOf(effectiveDateTime) ?? textOf(effectiveInstant) ?? textOf(period) ?? textOf(issued)
}

/** Value with the name of its component. The name is empty for the value of the Observation itself. */
export type Named = { readonly name: string; readonly text: string }

/** Returns the values of an Observation and of its components as text. There is at least one: a missing value is a text, too. */
export function valuesOf(observation: Tree): readonly Named[] {
  const own = valueText(observation)
  const parts = treesOf(observation.component).map((each) => ({ name: titleOf(each) || 'Component', text: valueText(each) ?? 'No value' }))
  const members = treesOf(observation.hasMember).length
  if (own === undefined && parts.length > 0) return parts
  const absent = members > 0 ? `${members} ${members === 1 ? 'member' : 'members'}` : 'No value'
  return [{ name: '', text: own ?? absent }, ...parts]
}

function valueText(holder: Tree): string | undefined {
  const value = choiceOf(holder)
  if (isTree(value) && 'origin' in value) return `Sampled data from ${isTree(value.origin) ? quantityText(value.origin) : '?'}`
  const text = shortText(value)
  if (text !== '') return text
  const { dataAbsentReason } = holder
  if (dataAbsentReason !== undefined) return `No value: ${shortText(dataAbsentReason) || 'no reason given'}`
  return undefined
}

function choiceOf(holder: Tree): Json | undefined {
  const name = Object.keys(holder).find((each) => /^value[A-Z]/.test(each))
  return name === undefined ? undefined : holder[name]
}

/** Reference range of an Observation. `low` and `high`: undefined if the range has no such bound. `text`: as the pages show it. */
export type NormalRange = { readonly low: number | undefined; readonly high: number | undefined; readonly text: string }

/** Returns the reference range of an Observation: that of type `normal`, or without a type, or the first. */
export function rangeOf(observation: Tree): NormalRange | undefined {
  const ranges = treesOf(observation.referenceRange)
  const isNormal = ({ type }: Tree) => !isTree(type) || treesOf(type.coding).some(({ code }) => code === 'normal')
  const range = ranges.find(isNormal) ?? ranges[0]
  if (range === undefined) return undefined
  const text = textOf(range.text) ?? rangeText(range)
  const numberAt = (value: Json | undefined) => (isTree(value) && value.value !== undefined ? Number(textOf(value.value)) : undefined)
  return text === '' ? undefined : { low: numberAt(range.low), high: numberAt(range.high), text }
}

/** Number at a time. `seconds`: since 1970. `text`: the number as it is written. */
export type Point = { readonly seconds: number; readonly value: number; readonly text: string }
export type Series = { readonly name: string; readonly points: readonly Point[] }

/** Series of one unit. `others`: numbers in other units, which are not drawn. */
export type Drawn = { readonly unit: string; readonly series: readonly Series[]; readonly others: number }

/** Returns the numbers of Observations as series, one per component. The unit is that of the first number. Mistakes are left out. */
export function drawnOf(resources: readonly Tree[]): Drawn {
  const points = new Map<string, Point[]>()
  let unit: string | undefined
  let others = 0
  for (const each of resources) {
    const seconds = Date.parse(momentOf(each) ?? '') / 1000
    if (Number.isNaN(seconds) || isMistake(each)) continue
    for (const holder of [each, ...treesOf(each.component)]) {
      const number = numberOf(holder)
      if (number === undefined) continue
      unit ??= number.unit
      if (number.unit !== unit) {
        others++
        continue
      }
      const name = holder === each ? '' : titleOf(holder)
      const point = { seconds, value: Number(number.text), text: number.text }
      const known = points.get(name)
      if (known === undefined) points.set(name, [point])
      else known.push(point)
    }
  }
  return { unit: unit ?? '', series: [...points].map(([name, each]) => ({ name, points: each })), others }
}

/** Largest number that a plot draws. */
export const MOST_DRAWN = 1e30

function numberOf(holder: Tree): { readonly text: string; readonly unit: string } | undefined {
  const { valueQuantity, valueInteger } = holder
  const text = textOf(isTree(valueQuantity) ? valueQuantity.value : valueInteger)
  if (text === undefined || !(Math.abs(Number(text)) <= MOST_DRAWN)) return undefined
  return { text, unit: isTree(valueQuantity) ? (textOf(valueQuantity.unit ?? valueQuantity.code) ?? '') : '' }
}

/** Returns a sentence about a plot, for people who cannot see it. */
export function summaryOf({ unit, series }: Drawn): string {
  const all = series.flatMap(({ points }) => points)
  const by = (key: 'seconds' | 'value') => all.toSorted((a, b) => a[key] - b[key])
  const [times, values] = [by('seconds'), by('value')]
  const day = (point: Point | undefined) => dateText(new Date((point?.seconds ?? 0) * 1000).toISOString()).slice(0, 10)
  const bounds = `${values[0]?.text} to ${values.at(-1)?.text}${unit === '' ? '' : ` ${unit}`}`
  return `${all.length} values from ${day(times[0])} to ${day(times.at(-1))}, ${bounds}`
}
