/** What the searches of US Core mean, and the values Inferno's kit searches for: on plain JSON. https://hl7.org/fhir/R4/search.html */
import type { Tree } from '../fixtures/resources.ts'
import { isOnDate } from '../fixtures/us-core/search-criteria.ts'
import { elementsAt } from './elements.ts'
import { SEARCHES } from './searches.ts'

const valuesOf = (resource: Tree, name: string): readonly Tree[] => {
  const [, ...paths] = parameterOf(resource.resourceType, name)
  return paths.flatMap((path) => elementsAt(resource, path))
}
const parameterOf = (type: string, name: string) => {
  const parameter = SEARCHES[type]?.parameters[name]
  if (parameter === undefined) throw new Error(`No parameter ${name} of ${type}`)
  return parameter
}

/** Whether a resource has one of the values between commas. */
export function meetsCriterion(resource: Tree, name: string, text: string): boolean {
  const [kind] = parameterOf(resource.resourceType, name)
  const values = valuesOf(resource, name)
  return text.split(',').some((criterion) => values.some((value) => MEANINGS[kind](value, criterion)))
}

const MEANINGS = {
  token: (value: Tree, criterion: string): boolean => {
    const [system, code] = criterion.includes('|') ? criterion.split('|') : [undefined, criterion]
    return codings(value).some((each) => (system === undefined || each.system === system) && each.code === code)
  },
  reference: (value: Tree, criterion: string): boolean => [criterion, `Patient/${criterion}`].includes(value.reference ?? value),
  date: (value: Tree, criterion: string): boolean => isOnDate(value, criterion),
  string: (value: Tree, criterion: string): boolean => texts(value).some((text) => text.toLowerCase().startsWith(criterion.toLowerCase())),
} as const

type Coding = { readonly system?: string; readonly code?: string }
/** Of a concept, a coding, an identifier, a code. */
const codings = (value: Tree): readonly Coding[] =>
  typeof value === 'string' ? [{ code: value }] : (value.coding ?? [{ system: value.system, code: value.code ?? value.value }])

/** Of a name or an address: not how it is used, nor when. */
const texts = (value: Tree): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : Object.entries(value).flatMap(([key, each]) => (['use', 'type', 'period', 'extension'].includes(key) ? [] : (each as string[])))

/** What is searched for that this resource has; undefined: nothing. With the system where `isWhole`. */
export function searchValueOf(resource: Tree, name: string, { isWhole = false } = {}): string | undefined {
  const [kind] = parameterOf(resource.resourceType, name)
  const value = valuesOf(resource, name)[0]
  return value === undefined ? undefined : ASKED[kind](value, isWhole)
}

const ASKED = {
  token: (value: Tree, isWhole: boolean): string | undefined => {
    const coding = codings(value).find(({ code, system }) => code !== undefined && (!isWhole || system !== undefined))
    return coding === undefined ? undefined : isWhole ? `${coding.system}|${coding.code}` : coding.code
  },
  reference: (value: Tree): string | undefined => (value.reference ?? value).replace(/^Patient\//, ''),
  date: (value: Tree): string | undefined => (typeof value === 'string' ? value : value.start && `gt${aDayOff(value.start, -1)}`),
  string: (value: Tree): string | undefined =>
    typeof value === 'string' ? value : (value.family ?? value.given?.[0] ?? value.text ?? value.city ?? value.state),
} as const

const DAY = 86_400_000
const aDayOff = (date: string, days: number): string => new Date(Date.parse(date) + days * DAY).toISOString()

/** The comparators a date SHALL be searched with, each so that this resource is found: a day before it, a day after. */
export function comparisons(resource: Tree, name: string): readonly string[] {
  const value = valuesOf(resource, name)[0]
  const date = typeof value === 'string' ? value : (value?.start ?? value?.end)
  if (date === undefined) return []
  return ['gt', 'ge']
    .map((comparator) => comparator + aDayOff(date, -1))
    .concat(['lt', 'le'].map((comparator) => comparator + aDayOff(date, 1)))
}
