/**
 * Rules for resources that a partner does not receive although it may receive data of the member. They narrow exports, and reads of a
 * partner with a member in context. 42 CFR 422.121, http://hl7.org/fhir/us/davinci-pdex/
 */
import type { View } from '../access/view/view-rules.ts'
import { resourceOf } from '../access/view/viewed-version.ts'
import { parseDateRange } from '../fhir/date-range.ts'
import { type Element, isElement, type Resource } from '../fhir/resource.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { CLINICAL_DATES } from '../search/clinical-dates.ts'
import { findSearchParameter } from '../search/parameters.ts'
import { endOf, hasCode, itemsOf, textOf } from './elements.ts'

/**
 * `now`: time of the kick-off, or of the token, in milliseconds since 1970. `windowStart`: instant of the oldest resources; absent: there is no
 * time window. `excluded`: labels of sensitive data, as `system|code`.
 */
export type PartnerRules = {
  readonly view: View
  readonly now: number
  readonly timeZone?: string
  readonly windowStart?: number
  readonly excluded: ReadonlySet<string>
}

/**
 * Settings of the time window. `payerWindowYears`: maximum age of resources for payers. `providerSince`: date of the oldest for providers.
 */
export type WindowSettings = { readonly payerWindowYears: number; readonly providerSince: string }

/** Returns the instant of the oldest resources that a partner receives. `now`: milliseconds since 1970. */
export const windowStartOf = (
  view: View,
  { payerWindowYears, providerSince }: WindowSettings,
  now: number,
  timeZone?: string,
): number | undefined => (view === 'payer' ? yearsBefore(now, payerWindowYears) : parseDateRange(providerSince, timeZone)?.low)

/** Returns the instant that is this number of calendar years before another. */
function yearsBefore(instant: number, years: number): number {
  const date = new Date(instant)
  return date.setUTCFullYear(date.getUTCFullYear() - years)
}

/** Returns the rules of an earlier kick-off. The time window of payers moves with the kick-off. The window of providers does not. */
export const rulesAt = (rules: PartnerRules, now: number): PartnerRules =>
  rules.windowStart === undefined || rules.view === 'provider'
    ? { ...rules, now }
    : { ...rules, now, windowStart: rules.windowStart - (rules.now - now) }

/** Whether the rules allow the version. `mayBeSensitive`: whether the patients of a version with a sensitive label permitted it. */
export function isAllowed(
  rules: PartnerRules,
  version: ResourceVersion,
  mayBeSensitive: () => boolean | Promise<boolean>,
): boolean | Promise<boolean> {
  const hasLabels = rules.excluded.size > 0 && mayHaveLabels(version.body)
  const isDated = CLINICAL_DATES[version.type] !== undefined
  if (!hasLabels && (!isDated || isRecent(rules, version))) return true
  const resource = resourceOf(version)
  // guard: partner-data-has-a-window
  if (isDated && !isInWindow(rules, version, resource)) return false
  return hasLabels && isLabelled(resource, rules.excluded) ? mayBeSensitive() : true
}

const mayHaveLabels = (body: Uint8Array): boolean => Buffer.from(body.buffer, body.byteOffset, body.length).includes('"security"')

/** A date of any precision, up to its day. Does not match codes, because revenue codes look like years. */
const DATE = /(?<=(?<!"code":)")\d{4}(?:-\d\d){0,2}(?=["T])/g
const DAY = 24 * 60 * 60 * 1_000

/**
 * Whether every date in a body is after the start of the time window, so that the clinical dates are too. Most resources of a partner are
 * recent, and need no parsing. False for a prior authorization, which has other rules, and if a date has to be compared exactly.
 */
function isRecent({ windowStart }: PartnerRules, { type, body }: ResourceVersion): boolean {
  if (windowStart === undefined && type !== CLAIMS) return true
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')
  // A JSON escape could hide a date from the pattern.
  if (text.includes('\\u') || (type === CLAIMS && text.includes('preauthorization"'))) return false
  if (windowStart === undefined) return true
  // Start of a day that is later in each time zone.
  const day = new Date(windowStart + 2 * DAY).toISOString().slice(0, 10)
  DATE.lastIndex = 0
  for (let date = DATE.exec(text); date !== null; date = DATE.exec(text)) if (date[0] < day) return false
  return true
}

const isLabelled = ({ meta }: Resource, labels: ReadonlySet<string>): boolean =>
  itemsOf((meta as Element | undefined)?.security).some(({ system, code }) => labels.has(`${String(system)}|${String(code)}`))

const CLAIMS = 'ExplanationOfBenefit'

function isInWindow(rules: PartnerRules, version: ResourceVersion, resource: Resource): boolean {
  if (version.type === CLAIMS && resource.use === 'preauthorization') return isExportedAuthorization(rules, version, resource)
  const { windowStart } = rules
  if (windowStart === undefined) return true
  const ends = datesOf(resource, version.type).flatMap((date) => latestOf(date, rules.timeZone) ?? [])
  return ends.length === 0 || ends.some((end) => end > windowStart)
}

/** Returns the dates of a resource. For a claim they are the dates of its services, as in the parameter `service-date` of the guides. */
function datesOf(resource: Resource, type: string): readonly unknown[] {
  if (type !== CLAIMS)
    return findSearchParameter(type, CLINICAL_DATES[type]!)!
      .values(resource)
      .map(({ value }) => value)
  return [resource.billablePeriod, ...itemsOf(resource.item).flatMap(({ servicedDate, servicedPeriod }) => [servicedDate, servicedPeriod])]
}

/** Returns the instant after a date, a Period or the events of a Timing. Undefined if it has no readable date. */
function latestOf(date: unknown, timeZone: string | undefined): number | undefined {
  if (typeof date === 'string') return parseDateRange(date, timeZone)?.high
  if (!isElement(date)) return undefined
  const { start, end, event, repeat } = date
  if (Array.isArray(event)) return lastOf(event.map((each) => latestOf(each, timeZone)))
  if (isElement(repeat)) return latestOf(repeat.boundsPeriod, timeZone)
  if (end !== undefined) return endOf(date, timeZone)
  // A Period without an end has not ended.
  return typeof start === 'string' && parseDateRange(start, timeZone) !== undefined ? Number.POSITIVE_INFINITY : undefined
}

const lastOf = (instants: readonly (number | undefined)[]): number | undefined => {
  const known = instants.filter((each) => each !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

const ADJUDICATED = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/base-ext-when-adjudicated'
const REVIEW_ACTION_CODE = /\/StructureDefinition\/extension-reviewActionCode$/
/** Matches the extension in PDex and in PAS. */
const ITEM_PERIOD = /\/StructureDefinition\/extension-itemPreAuthPeriod$/
const NOT_CERTIFIED = { system: 'https://codesystem.x12.org/005010/306', code: 'A3' }

/**
 * Whether a prior authorization is current, or changed in the last year. False for drugs, and for denied ones if the partner is a payer.
 */
function isExportedAuthorization({ view, now, timeZone }: PartnerRules, { lastUpdated }: ResourceVersion, resource: Resource): boolean {
  // guard: no-authorization-for-drugs
  if (itemsOf((resource.type as Element | undefined)?.coding).some(({ code }) => code === 'pharmacy')) return false
  const extensions = [...extensionsIn(resource)]
  const actions = extensions.filter(({ url }) => typeof url === 'string' && REVIEW_ACTION_CODE.test(url))
  const isDenied = actions.length > 0 && actions.every(({ valueCodeableConcept }) => hasCode(valueCodeableConcept, NOT_CERTIFIED))
  // guard: payer-gets-no-denied-authorization
  if (view === 'payer' && isDenied) return false
  if (resource.outcome === 'queued' || resource.outcome === 'partial') return true
  const ofItems = extensions.filter(({ url }) => typeof url === 'string' && ITEM_PERIOD.test(url))
  const periods = [resource.preAuthRefPeriod, ...ofItems.map(({ valuePeriod }) => valuePeriod)].flat()
  if (periods.some((period) => (latestOf(period, timeZone) ?? Number.NEGATIVE_INFINITY) > now)) return true
  const adjudicated = extensions.filter(({ url }) => url === ADJUDICATED).map(({ valueDateTime }) => valueDateTime)
  const changes = [resource.created, ...adjudicated].map((date) => latestOf(textOf(date), timeZone))
  return Math.max(lastUpdated, lastOf(changes) ?? 0) > yearsBefore(now, 1)
}

/** Yields the extensions at any depth of a resource. */
function* extensionsIn(tree: unknown): Generator<Element> {
  if (Array.isArray(tree)) for (const each of tree) yield* extensionsIn(each)
  else if (isElement(tree))
    for (const [name, value] of Object.entries(tree)) {
      if (name === 'extension') yield* itemsOf(value)
      yield* extensionsIn(value)
    }
}
