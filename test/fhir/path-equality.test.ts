/**
 * The compiled search parameters find the same values as fhirpath.js, an independent implementation of FHIRPath, in the official examples.
 * http://hl7.org/fhirpath/N1/
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import fhirpath from 'fhirpath'
import model from 'fhirpath/fhir-context/r4/index.js'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { parametersOf, type SearchParameter, type TypedValue } from '../../lambdas/search/parameters.ts'
import { PACKAGE_FOLDER } from '../../search-mappings/generate/hl7.ts'
import { isFullRun } from '../fixtures/long-runs.ts'

/** Maximum number of resources that are compared for each type. */
const MOST = isFullRun ? 200 : 3

/** fhirpath.js treats 1e-22 and 1e-245 as equal when it unites two lists. */
const ROUNDED = 'Observation-decimal.json'

const examples = (): readonly Resource[] => {
  const seen = new Map<string, number>()
  const names = readdirSync(PACKAGE_FOLDER)
    .filter((file) => /^[A-Z]\w+-.*\.json$/.test(file) && file !== ROUNDED)
    .sort()
  const chosen = names.filter((name) => {
    const type = name.slice(0, name.indexOf('-'))
    const count = (seen.get(type) ?? 0) + 1
    seen.set(type, count)
    return count <= MOST
  })
  const read = (name: string): Resource => JSON.parse(readFileSync(join(PACKAGE_FOLDER, name), 'utf8')) as Resource
  const rich = isFullRun
    ? []
    : ['Patient-example', 'Observation-blood-pressure', 'Encounter-f203', 'MolecularSequence-coord-0-base', 'Observation-f205']
  return [...chosen, ...rich.map((name) => `${name}.json`)].map(read)
}

type Node = { readonly data: { readonly reference?: unknown; readonly type?: string } }

/** Returns the type of a reference from its text, because fhirpath.js would fetch the resource. The compiler uses a different way. */
function typed({ reference, type }: Node['data'], { contained = [] }: Resource): { resourceType: string | undefined }[] {
  const text = String(reference ?? '')
  const local = (contained as readonly Resource[]).find(({ id }) => text === `#${id}`)
  const [, named] = /(?:^|\/)([A-Za-z]+)\/[^/]+(?:\/_history\/[^/]+)?$/.exec(text) ?? []
  return [{ resourceType: local?.resourceType ?? named ?? type }]
}

type Compiled = (focus: unknown, environment: Record<string, unknown>) => unknown[]
let current: Resource
const compiled = new Map<string, Compiled>()

function meaning(expression: string, base: string, focus: unknown): unknown[] {
  const key = `${base} ${expression}`
  let evaluate = compiled.get(key)
  if (evaluate === undefined) {
    const text = asCompiled(expression)
    evaluate = fhirpath.compile(base === '' ? text : { base, expression: text }, model as never, {
      userInvocationTable: RESOLVE,
      async: false,
    }) as Compiled
    compiled.set(key, evaluate)
  }
  return evaluate(focus, { resource: current })
}

const RESOLVE = {
  resolve: {
    fn: (nodes: readonly Node[]) => nodes.flatMap(({ data }) => typed(data, current)),
    arity: { 0: [] },
    internalStructures: true,
  },
} as never

/** fhirpath.js rejects `as` on several items, which an official parameter uses, and has no type `DateTime`. */
const asCompiled = (expression: string): string =>
  expression
    .replace(/resolve\(\) is (\w+)/g, "resolve().resourceType = '$1'")
    .replaceAll('DateTime', 'dateTime')
    .replaceAll('.as(', '.ofType(')
    .replace(/\(([\w.]+) as (\w+)\)/g, '$1.ofType($2)')

/** Values as a set of texts, because fhirpath.js removes duplicates from unions. */
const texts = (values: readonly unknown[]): string[] => [...new Set(values.map((value) => JSON.stringify(value)))].sort()
const valuesIn = (values: readonly TypedValue[]): string[] => texts(values.map(({ value }) => value))

type Tally = { compared: number; withValues: number; unanswered: string[]; different: string[] }

function compare(name: string, ours: readonly TypedValue[], theirs: () => unknown[], tally: Tally): void {
  let expected: unknown[]
  try {
    expected = theirs()
  } catch (thrown) {
    tally.unanswered.push(`${name}: ${(thrown as Error).message}`)
    return
  }
  tally.compared++
  if (expected.length > 0) tally.withValues++
  if (texts(expected).join() !== valuesIn(ours).join())
    tally.different.push(`${name}: ${valuesIn(ours)} instead of ${texts(expected)}`.slice(0, 300))
}

function compareParameter(parameter: SearchParameter, resource: Resource, tally: Tally): void {
  const name = `${resource.resourceType}/${resource.id} ${parameter.code}`
  const bases = parameter.values(resource)
  compare(name, bases, () => meaning(parameter.expression, '', resource), tally)
  for (const component of parameter.components)
    for (const base of bases)
      compare(
        `${name} ${component.code}`,
        component.values(base, resource),
        () => meaning(component.expression, base.type, base.value),
        tally,
      )
}

describe('every search parameter, on official examples', () => {
  it('has the values that fhirpath.js finds', () => {
    const tally: Tally = { compared: 0, withValues: 0, unanswered: [], different: [] }
    for (const resource of examples()) {
      current = resource
      for (const parameter of parametersOf(resource.resourceType)) compareParameter(parameter, resource, tally)
    }
    expect(tally.different).toEqual([])
    expect(tally.compared).toBeGreaterThan(isFullRun ? 20_000 : 2_000)
    expect(tally.withValues).toBeGreaterThan(isFullRun ? 8_000 : 800)
    // fhirpath.js cannot unite quantities one of which has a comparator.
    expect(tally.unanswered.filter((text) => !/has a comparator/.test(text))).toEqual([])
  })
})
