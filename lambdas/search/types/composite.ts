/**
 * Composite parameters: values of one element that are met together. https://hl7.org/fhir/R4/search.html#composite
 *
 * Each combination is an entry: its key is the first component that is compared exactly, intervals are the ordered ones, and labels
 * say everything else. A component is read and asked as a parameter of its own, and what that yields is put into this form.
 */
import { Fields } from '../fields.ts'
import type { Component, ParameterType, SearchParameter, TypedValue } from '../parameters.ts'
import { all, type LabelTest, not, type Predicate, type RangeTest, some } from '../plan.ts'
import { quantityForms } from './quantity.ts'
import { malformed, type QueryContext, type SearchType, type Source, splitValue } from './search-type.ts'

/** More combinations than any real value has are left out. */
const MOST = 500

type Interval = readonly [low: number, high: number]

/** What one component contributes to an entry. */
type Part = { readonly key?: string; readonly labels: readonly string[]; readonly range?: Interval }
/** What one component asks of an entry. */
type Way = { readonly key?: string; readonly labels: readonly LabelTest[]; readonly range?: RangeTest }

type TypeOf = (type: ParameterType) => SearchType | undefined

export const composite = (typeOf: TypeOf): SearchType => ({
  modifiers: [],
  extract(fields, name, base, { parameter: { components }, ...from }) {
    const values = components.map((component) => component.values(base, from.resource, from.onFailure))
    if (values.some(({ length }) => length === 0)) return
    const first = components.findIndex(isExact)
    const parts = components.map((component, i) => partsOf(typeOf, fields, component, values[i]!, from.resource, i === first ? '' : `${i}`))
    for (const entry of crossed(parts))
      fields.tuple(name, {
        key: entry.find(({ key }) => key !== undefined)?.key ?? '',
        labels: entry.flatMap(({ labels }) => labels),
        ranges: entry.flatMap(({ range }) => (range === undefined ? [] : [range])),
      })
  },
  lower(parameter, value, _modifier, context) {
    const { field, components } = parameter
    const texts = splitValue(value, '$')
    if (texts.length !== components.length) throw malformed(parameter, `of ${components.length} values joined by $`)
    const first = components.findIndex(isExact)
    const asked = components.map((component, i) => askedOf(typeOf, component, texts[i]!, context, i === first ? '' : `${i}`))
    const met = (ways: readonly (readonly Way[])[]): Predicate => some(...crossed(ways).map((entry) => tupleOf(field, entry)))
    const positive = met(asked.map(({ ways }) => ways))
    if (!asked.some(({ negated }) => negated)) return positive
    return all(met(asked.map(({ ways, negated }) => (negated ? ways.map(widest) : ways))), not(positive))
  },
})

const isExact = ({ type }: Component): boolean => type === 'token' || type === 'reference' || type === 'uri'

const crossed = <T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] =>
  lists.reduce<readonly (readonly T[])[]>((rows, list) => rows.flatMap((row) => list.map((each) => [...row, each])).slice(0, MOST), [[]])

/** `place`: empty for the component that is the key, else its number. */
function partsOf(
  typeOf: TypeOf,
  { reading }: Fields,
  component: Component,
  values: readonly TypedValue[],
  resource: Source['resource'],
  place: string,
): readonly Part[] {
  const { code, type } = component
  if (type === 'quantity')
    return values
      .flatMap(({ type, value }) => quantityForms(type, value))
      .map(({ low, high, labels }) => ({ range: [low, high], labels: placed(place, labels) }))
  const own = new Fields(reading)
  const parameter = parameterOf(component)
  for (const value of values) typeOf(type)?.extract(own, code, value, { parameter, resource })
  const keys = own.keys[code] ?? []
  if (isExact(component)) return exactParts(keys, type === 'token' ? (own.keys[`${code}:code`] ?? []) : undefined, place)
  if (type === 'string') return keys.map((text) => ({ labels: placed(place, [`t${text}`]) }))
  return [...(own.spans[code] ?? []), ...(own.numbers[code] ?? [])].map((range) => ({ range, labels: [] }))
}

/** `codes` of a token, whose keys are `system|code`. */
function exactParts(keys: readonly string[], codes: readonly string[] | undefined, place: string): readonly Part[] {
  const systems = codes === undefined ? [] : [...new Set(keys.map((key) => `s${key.slice(0, key.indexOf('|'))}`))]
  const labels = codes === undefined ? [] : placed(place, [...keys.map((key) => `f${key}`), ...systems])
  if (place === '') return (codes ?? keys).map((key) => ({ key, labels }))
  const exact = placed(
    place,
    (codes ?? keys).map((code) => `c${code}`),
  )
  return exact.length === 0 ? [] : [{ labels: [...exact, ...labels] }]
}

const placed = (place: string, labels: readonly string[]): readonly string[] => labels.map((label) => `${place}${oneLine(label)}`)

/** A label is a line. */
const oneLine = (text: string): string => text.replaceAll('\n', '\u2028')

const parameterOf = (component: Component): SearchParameter => ({ ...component, components: [], values: () => [] })

type Asked = { readonly ways: readonly Way[]; readonly negated: boolean }

/** `ne` of a component: the element has a value, and it is not that one. */
function askedOf(typeOf: TypeOf, component: Component, text: string, context: QueryContext, place: string): Asked {
  const parameter = parameterOf(component)
  const type = typeOf(component.type)
  if (type === undefined) throw malformed(parameter, 'of a type this server searches by')
  const asked = type.lower(parameter, text, undefined, context)
  const inner = asked.kind === 'all' ? asked.of.find(({ kind }) => kind === 'not') : undefined
  return inner?.kind === 'not'
    ? { ways: waysOf(component, inner.of, place), negated: true }
    : { ways: waysOf(component, asked, place), negated: false }
}

function waysOf(component: Component, p: Predicate, place: string): readonly Way[] {
  switch (p.kind) {
    case 'some':
      return p.of.flatMap((each) => waysOf(component, each, place))
    case 'key':
      return p.oneOf.map((key) => exactWay(component, p.field, key, place))
    case 'keyRange':
      if (component.type === 'string') return [{ labels: [labelled(place, `t${p.from}`, false)] }]
      return component.type === 'token' ? [{ labels: [labelled(place, `s${p.from.slice(0, -1)}`)] }] : []
    case 'span':
    case 'number':
      return [{ labels: [], range: p }]
    case 'tuple':
      return p.ranges.map((range) => ({ labels: [labelled(place, `${p.field.slice(component.code.length + 1)} ${p.key}`)], range }))
    default:
      return []
  }
}

function exactWay({ code, type }: Component, field: string, key: string, place: string): Way {
  const isFull = type === 'token' && field === code
  if (place === '') return isFull ? { key: key.slice(key.indexOf('|') + 1), labels: [labelled(place, `f${key}`)] } : { key, labels: [] }
  return { labels: [labelled(place, `${isFull ? 'f' : 'c'}${key}`)] }
}

const labelled = (place: string, label: string, whole = true): LabelTest => ({ text: `${place}${oneLine(label)}`, whole })

const widest = (way: Way): Way =>
  way.range === undefined
    ? way
    : { ...way, range: { ...way.range, relation: 'intersects', low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY } }

function tupleOf(field: string, entry: readonly Way[]): Predicate {
  const key = entry.find((way) => way.key !== undefined)?.key
  const ranges = entry.flatMap(({ range }) => (range === undefined ? [] : [testOf(range)]))
  return { kind: 'tuple', field, ...(key === undefined ? {} : { key }), labels: entry.flatMap(({ labels }) => labels), ranges }
}

const testOf = ({ kind, relation, low, high }: RangeTest): RangeTest => ({ kind, relation, low, high })
