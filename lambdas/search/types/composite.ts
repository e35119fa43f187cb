/**
 * Composite parameters, whose components must match within the same element. https://hl7.org/fhir/R4/search.html#composite
 *
 * Each combination of component values is a tuple. The first token, reference or uri component is its key, ordered components are its
 * ranges, and labels hold all other values. The code extracts and queries a component like a parameter of its own, and then converts the
 * result.
 */
import type { Element } from '../../fhir/resource.ts'
import { and, type LabelTest, not, or, type Predicate, type RangeTest } from '../../ports/search/plan.ts'
import { addDistinctKey, DocumentFields } from '../fields.ts'
import { cacheByCode, cacheByText, cachePerResource } from '../interned-texts.ts'
import type { CompositeComponent, OnFailure, ParameterType, SearchParameter, TypedValue } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import { type Interval, type QuantityForm, quantityFormsOf } from './quantity.ts'
import { malformedValueError, type QueryContext, type SearchType, splitValue } from './search-type.ts'
import { type Token, tokensOf } from './tokens.ts'

/** Maximum combinations of component values, in an element and in a query value. Further ones are dropped: no real element has so many. */
const MAX_COMBINATIONS = 500
const MAX_CACHED = 5_000
const MAX_COMPONENTS = 100

/** Values that a component adds to a tuple, or tests that it makes on a tuple. */
type Part<Label, Range> = { readonly key: string | undefined; readonly labels: readonly Label[]; readonly ranges: readonly Range[] }
type Value = Part<string, Interval>
type PartTest = Part<LabelTest, RangeTest>

type TypeOf = (type: ParameterType) => SearchType | undefined

export const composite = (typeOf: TypeOf): SearchType => ({
  modifiers: [],
  // Tuples of all parameters share the fields of one nested mapping.
  maxFields: 0,
  extractor({ field, components }) {
    const first = components.findIndex(isExact)
    const readers = components.map((component, i) => readerOf(typeOf, component, i === first ? '' : `${i}`))
    return (fields, bases, resource, onFailure) => {
      for (const base of bases) {
        const values = valuesAt(base, components, resource, onFailure)
        if (values === undefined) continue
        const parts = values.map((each, i) => readers[i]!(each, resource, fields.reading))
        for (const { key = '', labels, ranges } of crossed(parts)) fields.tuple(field, { key, labels, ranges })
      }
    }
  },
  lower(parameter, value, _modifier, context) {
    const { field, components } = parameter
    const texts = splitValue(value, '$')
    if (texts.length !== components.length) throw malformedValueError(parameter, `of ${components.length} values joined by $`)
    const first = components.findIndex(isExact)
    const tests = components.map((component, i) => testsOf(typeOf, component, texts[i]!, context, i === first ? '' : `${i}`))
    const anyTuple = (tests: readonly (readonly PartTest[])[]): Predicate => or(...crossed(tests).map((part) => tupleOf(field, part)))
    const positive = anyTuple(tests.map(({ matching }) => matching))
    if (tests.every(({ present }) => present === undefined)) return positive
    return and(anyTuple(tests.map(({ matching, present = matching }) => present)), not(positive))
  },
})

const isExact = ({ type }: CompositeComponent): boolean => type === 'token' || type === 'reference' || type === 'uri'

/** Returns the values of each component in the element `base`, or undefined if a component has none. */
function valuesAt(
  base: TypedValue,
  components: readonly CompositeComponent[],
  resource: Element,
  onFailure: OnFailure | undefined,
): readonly (readonly TypedValue[])[] | undefined {
  const values = Array<readonly TypedValue[]>(components.length)
  // Read the first component last. It is mostly a code, which every element has, so the others fail earlier.
  for (let i = components.length - 1; i >= 0; i--) {
    const found = components[i]!.values(base, resource, onFailure)
    if (found.length === 0) return undefined
    values[i] = found
  }
  return values
}

function crossed<Label, Range>(lists: readonly (readonly Part<Label, Range>[])[]): readonly Part<Label, Range>[] {
  let rows: readonly Part<Label, Range>[] = [{ key: undefined, labels: [], ranges: [] }]
  for (const list of lists) {
    const longer: Part<Label, Range>[] = []
    for (const row of rows) for (const part of list) if (longer.length < MAX_COMBINATIONS) longer.push(joined(row, part))
    rows = longer
  }
  return rows
}

const joined = <Label, Range>(a: Part<Label, Range>, b: Part<Label, Range>): Part<Label, Range> => ({
  key: a.key ?? b.key,
  labels: concatenated(a.labels, b.labels),
  ranges: concatenated(a.ranges, b.ranges),
})

const concatenated = <T>(a: readonly T[], b: readonly T[]): readonly T[] => (a.length === 0 ? b : b.length === 0 ? a : [...a, ...b])

type Reader = (values: readonly TypedValue[], resource: Element, reading: SearchContext) => readonly Value[]

/**
 * Returns the function that reads the values of a component. `prefix` of its labels: empty for the component that is the key, otherwise its
 * number.
 */
function readerOf(typeOf: TypeOf, { type, field }: CompositeComponent, prefix: string): Reader {
  if (type === 'quantity') return quantityReader(prefix)
  if (type === 'token') return tokenReader(prefix)
  const extract = typeOf(type)?.extractor({ field, components: [] })
  return (values, resource, reading) => {
    const own = new DocumentFields(reading)
    extract?.(own, values, resource)
    const keys = own.keys[field] ?? []
    if (type === 'string') return keys.map((text) => ({ ...NOTHING, labels: [labelAt(prefix, `t${text}`)] }))
    if (type === 'reference' || type === 'uri') return exactValues(prefix, keys, [])
    return [...(own.spans[field] ?? []), ...(own.numbers[field] ?? [])].map((range) => ({ ...NOTHING, ranges: [range] }))
  }
}

const quantityReader = cacheByText(MAX_COMPONENTS, (prefix): Reader => {
  const labelOf = cacheByText(MAX_CACHED, (label) => labelAt(prefix, label))
  const formAt = ({ range, units }: QuantityForm): Value => ({
    ...NOTHING,
    labels: units.map(({ label }) => labelOf(label)),
    ranges: [range],
  })
  const valuesOf = cachePerResource((value, resource) => quantityFormsOf(value, resource).map(formAt))
  return (values, resource) => (values.length === 1 ? valuesOf(values[0]!, resource) : values.flatMap((value) => valuesOf(value, resource)))
})

const tokenReader = cacheByText(MAX_COMPONENTS, (prefix): Reader => {
  const singleValues = cacheByCode(MAX_CACHED, (code, key) => tokenValues(prefix, [{ keys: [key], code }]))
  return (values) => {
    const tokens = values.length === 1 ? tokensOf(values[0]!) : values.flatMap(tokensOf)
    const { code, keys } = tokens[0] ?? NO_TOKEN
    return tokens.length === 1 && keys.length === 1 && code !== undefined ? singleValues(code, keys[0]!) : tokenValues(prefix, tokens)
  }
})

const NO_TOKEN: Token = { keys: [], code: undefined, sort: undefined, group: undefined }

function tokenValues(prefix: string, tokens: readonly Pick<Token, 'keys' | 'code'>[]): readonly Value[] {
  const keys: string[] = []
  const codes: string[] = []
  for (const token of tokens) {
    for (const key of token.keys) addDistinctKey(keys, key)
    if (token.code !== undefined) addDistinctKey(codes, token.code)
  }
  const systems = keys.map((key) => `s${key.slice(0, key.indexOf('|'))}`)
  const labels = [...keys.map((key) => `f${key}`), ...new Set(systems)].map((label) => labelAt(prefix, label))
  return exactValues(prefix, codes, labels)
}

function exactValues(prefix: string, keys: readonly string[], labels: readonly string[]): readonly Value[] {
  if (prefix === '') return keys.map((key) => ({ key, labels, ranges: [] }))
  return keys.length === 0 ? [] : [{ ...NOTHING, labels: [...keys.map((key) => labelAt(prefix, `c${key}`)), ...labels] }]
}

const NOTHING: Value = { key: undefined, labels: [], ranges: [] }

const labelAt = (prefix: string, label: string): string => prefix + oneLine(label)

/** Replaces line breaks, because labels must not contain any. */
const oneLine = (text: string): string => text.replaceAll('\n', '\u2028')

const parameterOf = (component: CompositeComponent): SearchParameter => ({ ...component, valueTypes: [], components: [], values: () => [] })

/**
 * Tests of a component. `present`: only for `ne`, the tests that any value passes. Then an element must pass one of them and none of
 * `matching`.
 */
type ComponentTests = { readonly matching: readonly PartTest[]; readonly present?: readonly PartTest[] }

function testsOf(typeOf: TypeOf, component: CompositeComponent, text: string, context: QueryContext, prefix: string): ComponentTests {
  const parameter = parameterOf(component)
  const type = typeOf(component.type)
  if (type === undefined) throw malformedValueError(parameter, 'of a type this server searches by')
  const predicate = type.lower(parameter, text, undefined, context)
  const partTests = (p: Predicate): readonly PartTest[] => partTestsOf(component, p, prefix)
  const parts = predicate.kind === 'all' ? predicate.of : [predicate]
  const inner = parts.find((part) => part.kind === 'not')
  if (inner === undefined) return { matching: partTests(predicate) }
  return { matching: partTests(inner.of), present: parts.filter((part) => part !== inner).flatMap(partTests) }
}

function partTestsOf(component: CompositeComponent, p: Predicate, prefix: string): readonly PartTest[] {
  switch (p.kind) {
    case 'some':
      return p.of.flatMap((each) => partTestsOf(component, each, prefix))
    case 'key':
      return p.oneOf.map((key) => exactTest(component, p.field, key, prefix))
    case 'keyRange':
      if (component.type === 'string') return [partTest([labelled(prefix, `t${p.from}`, false)])]
      return component.type === 'token' ? [partTest([labelled(prefix, `s${p.from.slice(0, -1)}`)])] : []
    case 'span':
    case 'number':
      return [partTest([], p)]
    case 'tuple':
      return p.ranges.map((range) => partTest([labelled(prefix, `${p.field.slice(component.code.length + 1)} ${p.key}`)], range))
    default:
      return []
  }
}

const partTest = (labels: readonly LabelTest[], ...ranges: readonly RangeTest[]): PartTest => ({
  key: undefined,
  labels,
  ranges: ranges.map(testOf),
})

function exactTest({ code, type }: CompositeComponent, field: string, key: string, prefix: string): PartTest {
  const isFull = type === 'token' && field === code
  if (prefix !== '') return partTest([labelled(prefix, `${isFull ? 'f' : 'c'}${key}`)])
  return isFull ? { ...partTest([labelled(prefix, `f${key}`)]), key: key.slice(key.indexOf('|') + 1) } : { ...partTest([]), key }
}

const labelled = (prefix: string, label: string, whole = true): LabelTest => ({ text: labelAt(prefix, label), whole })

const tupleOf = (field: string, { key, labels, ranges }: PartTest): Predicate => ({
  kind: 'tuple',
  field,
  ...(key === undefined ? {} : { key }),
  labels,
  ranges,
})

const testOf = ({ kind, relation, low, high }: RangeTest): RangeTest => ({ kind, relation, low, high })
