/**
 * HL7's FHIRPath suite through $apply-fhirpath: what is found is equal in type, order and value, numbers by value, instants of time as such,
 * quantities by value and unit. What differs is listed, with the reason.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { DIFFERENCES } from '../fixtures/fhirpath/differences.ts'
import { type TestResponse, type Tree, withServer } from './server.ts'

const { post } = withServer()

const FOLDER = join(import.meta.dirname, '../fixtures/fhirpath')
const read = (path: string): Tree => JSON.parse(readFileSync(join(FOLDER, path), 'utf8'))

/** `invalid`: it must be refused. `predicate`: whether there is anything. */
type Test = {
  readonly name: string
  readonly expression: string
  readonly input?: string
  readonly invalid?: string
  readonly predicate?: boolean
  readonly output: readonly { readonly type?: string; readonly value: string }[]
}
type Found = { readonly type: string; readonly value: unknown }

const SUITE: readonly Test[] = read('suite.json')
const NO_INPUT: Tree = { resourceType: 'Basic', code: { text: 'x' } }

async function applied({ expression, input }: Test): Promise<TestResponse> {
  const parameter = [
    { name: 'fhirPath', valueString: expression },
    { name: 'resource', resource: input === undefined ? NO_INPUT : read(`inputs/${input}.json`) },
  ]
  return post('/$apply-fhirpath', { resourceType: 'Parameters', parameter })
}

const foundIn = ({ body }: TestResponse): readonly Found[] =>
  body.parameter.filter(({ name }: Tree) => name === 'result').map(({ part }: Tree) => foundOf(part))

function foundOf(part: readonly Tree[]): Found {
  const of = (wanted: string): Tree => part.find(({ name }) => name === wanted)
  const { name: _, ...value } = of('value') ?? {}
  return { type: of('type').valueString, value: of('value') === undefined ? JSON.parse(of('json').valueString) : Object.values(value)[0] }
}

/** As the suite writes them: `@T14:30`, `1.0`, `@2014-01-25T14:30:14.559`, `4 'mg'`. */
function isEqual({ type, value }: Test['output'][number], found: Found): boolean {
  if (type !== undefined && type !== found.type) return false
  const bare = value.replace(/^@T?/, '')
  if (typeof found.value === 'number') return Number(bare) === found.value
  if (found.type === 'dateTime' && /T.*(?:Z|[+-]\d\d:\d\d)$/.test(bare)) return Date.parse(bare) === Date.parse(String(found.value))
  if (found.type !== 'Quantity') return bare === String(found.value)
  const [, number, unit] = /^(\S+) '?(.+?)'?$/.exec(bare) ?? []
  const quantity = found.value as { readonly value: number; readonly unit?: string; readonly code?: string }
  return Number(number) === quantity.value && (unit === quantity.unit || unit === quantity.code)
}

/** What was answered, where it is not what the suite says. */
async function differenceOf(test: Test): Promise<string | undefined> {
  const answer = await applied(test)
  // A listed difference must not hide a failure of the server.
  expect([test.name, answer.status < 500]).toEqual([test.name, true])
  if (answer.status === 422) return test.invalid === undefined ? answer.body.issue[0].details.text : undefined
  if (answer.status !== 200) return `${answer.status}`
  const found = foundIn(answer)
  const shown = JSON.stringify(found.map(({ type, value }) => [type, value])).slice(0, 150)
  if (test.invalid !== undefined) return shown
  if (test.predicate === true) return `${found.length > 0}` === test.output[0]!.value ? undefined : shown
  return found.length === test.output.length && test.output.every((each, i) => isEqual(each, found[i]!)) ? undefined : shown
}

it('the results match the suite of HL7, except for the listed differences', async () => {
  const different: (readonly [string, string])[] = []
  for (const test of SUITE) {
    const difference = await differenceOf(test)
    if (difference !== undefined) different.push([test.name, difference])
  }
  const reasoned = Object.values(DIFFERENCES).flat()
  expect(different.filter(([name]) => !reasoned.includes(name))).toEqual([])
  expect(reasoned.filter((reason) => !different.some(([name]) => name === reason))).toEqual([])
  expect(SUITE.length).toBe(935)
  expect(SUITE.length - different.length).toBeGreaterThanOrEqual(900)
}, 120_000)
