/** Numbers and quantities of any length are found by their own values. Every executor of plans must pass. */
import { expect, it } from '@jest/globals'
import { parseJson } from '../../lambdas/fhir/json.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { and, type Predicate } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument, SearchIndex } from '../../lambdas/ports/search/search-index.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../lambdas/search/evaluate.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import { type Random, randomOf } from './generated-search.ts'

/** `find`: the ids of the documents of the type and tenant that pass, in any order. */
export type PlanExecutor = {
  readonly apply: (documents: readonly IndexDocument[]) => Promise<void>
  readonly find: (scope: { readonly tenant: string; readonly type: string }, where: Predicate) => Promise<readonly string[]>
}

/** `another`: a unit with an exact decimal factor, by which a value is multiplied. */
type Unit = { readonly code: string; readonly system?: string; readonly another?: readonly [code: string, factor: string] }

const UNITS: readonly Unit[] = [
  { code: 'mg/dL', another: ['g/L', '0.01'] },
  { code: 'mmol/L', another: ['umol/L', '1000'] },
  { code: '10*3/uL', another: ['/L', '1e9'] },
  { code: 'kg', another: ['mg', '1e6'] },
  { code: 'g', another: ['ng', '1e9'] },
  { code: 'mL/min', another: ['mL/h', '60'] },
  { code: '/min', another: ['/h', '60'] },
  { code: 'mL', another: ['dL', '0.01'] },
  { code: '[lb_av]', another: ['g', '453.59237'] },
  { code: '[in_i]', another: ['cm', '2.54'] },
  { code: '[ft_i]', another: ['[in_i]', '12'] },
  { code: '[gal_us]', another: ['mL', '3785.411784'] },
  { code: 'kcal', another: ['J', '4184'] },
  { code: 'mm[Hg]', another: ['Pa', '133.322'] },
  { code: 'kg/m2', another: ['g/m2', '1000'] },
  { code: 'wk', another: ['d', '7'] },
  { code: 'a', another: ['d', '365.25'] },
  { code: 'min', another: ['s', '60'] },
  { code: 'deg', another: ["'", '60'] },
  { code: '%', another: ['1', '0.01'] },
  { code: 'L/min/m2', another: ['mL/h/m2', '60000'] },
  { code: 'mmol/kg/h' },
  { code: 'Cel' },
  { code: '[degF]' },
  { code: '[pH]' },
  { code: 'dB' },
  { code: '[iU]/L' },
  { code: '{score}' },
  { code: 'tablet', system: 'http://example.org/units' },
  { code: 'U/L', another: ['U/mL', '0.001'] },
]

const UCUM = 'http://unitsofmeasure.org'

/** One resource as JSON, and queries: `finding` find it, `missing` do not. */
type Case = { readonly json: string; readonly type: string; readonly finding: readonly string[]; readonly missing: readonly string[] }

/** 1 to 20 digits, seldom up to 100, sometimes with a sign, a point, zeros at the end or an exponent. */
function numberText(random: Random): string {
  const length = random.below(20) === 0 ? 21 + random.below(80) : 1 + random.below(20)
  const digits = Array.from({ length }, (_, i) => (i === 0 ? 1 + random.below(9) : random.below(10))).join('')
  const point = random.below(length + 1)
  const plain =
    point === length
      ? digits
      : point === 0
        ? `0.${'0'.repeat(random.below(4))}${digits}`
        : `${digits.slice(0, point)}.${digits.slice(point)}`
  return `${random.below(10) === 0 ? '-' : ''}${plain}${random.below(12) === 0 ? `e${random.below(9) - 4}` : ''}`
}

/** The exact product, as text. */
function product(a: string, b: string): string {
  const parts = [a, b].map((text) => /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(text)!)
  const digits = parts.map(([, sign, whole, fraction = '']) => BigInt(whole! + fraction) * (sign === '-' ? -1n : 1n))
  const exponent = parts.reduce((sum, [, , , fraction = '', power = '0']) => sum + Number(power) - fraction.length, 0)
  return `${digits[0]! * digits[1]!}.0e${exponent}`
}

function caseOf(random: Random, id: string): Case {
  const text = numberText(random)
  if (random.below(6) === 0) {
    const json = `{"resourceType":"RiskAssessment","id":"${id}","prediction":[{"probabilityDecimal":${text}}]}`
    return { json, type: 'RiskAssessment', ...queriesOf('probability', text, '') }
  }
  const { code, system = UCUM, another } = random.pick(UNITS)
  const quantity = `{"value":${text},"unit":"u","system":"${system}","code":"${code}"}`
  const coded = `"code":{"coding":[{"system":"s","code":"c"}]},"valueQuantity":${quantity}`
  const json = `{"resourceType":"Observation","id":"${id}",${coded},"component":[{${coded}}]}`
  const forms = ['', `|${system}|${code}`, `||${code}`, '||u', `|${system}|`].map((unit) => [text, unit] as const)
  const all = another === undefined ? forms : [...forms, [product(text, another[1]), `|${system}|${another[0]}`] as const]
  const names = ['value-quantity', 'combo-value-quantity', 'component-value-quantity']
  const composites = ['code-value-quantity', 'combo-code-value-quantity', 'component-code-value-quantity'].map((name) => `${name}=s|c$`)
  const queries = [...names.map((name) => `${name}=`), ...composites].flatMap((start) =>
    all.map(([number, unit]) => queriesOf(start.replace(/=.*/, ''), number, unit, start.replace(/^[^=]*=/, ''))),
  )
  return {
    json,
    type: 'Observation',
    finding: queries.flatMap(({ finding }) => finding),
    missing: queries.flatMap(({ missing }) => missing),
  }
}

function queriesOf(name: string, number: string, unit: string, before = ''): Pick<Case, 'finding' | 'missing'> {
  const each = (prefix: string): string => `${name}=${before}${prefix}${number}${unit}`
  return { finding: ['', 'eq', 'ge', 'le', 'ap'].map(each), missing: ['ne', 'gt', 'lt', 'sa', 'eb'].map(each) }
}

const PER_TENANT = 100

/** `each`: queries of one value, picked at random. */
export function exactValuesContract(name: string, each: number, create: () => PlanExecutor): void {
  it(`${name}: finds numbers and quantities by their own values in any unit`, async () => {
    const executor = create()
    const seed = firstSeed()
    const random = randomOf(seed)
    for (let done = 0; done < caseCountOf(200, 10_000); done += PER_TENANT) {
      const tenant = `exact-${done}`
      const cases = Array.from({ length: PER_TENANT }, (_, i) => caseOf(random, `${i}`))
      const documents = cases.map(({ json, type }, i) =>
        extract(versionOf(writeOf(resourceKeyOf(tenant, type, `${i}`))), parseJson(json) as Resource),
      )
      await executor.apply(documents)
      for (const [i, { json, type, finding, missing }] of cases.entries()) {
        const ids = async (query: string): Promise<ReadonlySet<string>> => {
          const where = whereOf(type, query)
          const found = await executor.find({ tenant, type }, where)
          const meant = documents.flatMap((document, at) => (document.type === type && matchesPredicate(where, document) ? [`${at}`] : []))
          expect({ seed, query, found: [...found].sort() }).toEqual({ seed, query, found: meant.sort() })
          return new Set(found)
        }
        for (let n = 0; n < each; n++) {
          const at = random.below(finding.length)
          const [query, other] = [finding[at]!, missing[at]!]
          expect({ seed, json, query, isFound: (await ids(query)).has(`${i}`) }).toEqual({ seed, json, query, isFound: true })
          expect({ seed, json, query: other, isFound: (await ids(other)).has(`${i}`) }).toEqual({
            seed,
            json,
            query: other,
            isFound: false,
          })
        }
      }
    }
  })
}

function whereOf(type: string, query: string): Predicate {
  const at = query.indexOf('=')
  const { where } = parseSearch(type, [[query.slice(0, at), query.slice(at + 1)]], { handling: 'strict' })
  return and(...(where as readonly Predicate[]))
}

/** An index as an executor. */
export const executorOf = (index: SearchIndex): PlanExecutor => ({
  apply: (documents) => index.apply(documents),
  find: async ({ tenant, type }, where) => {
    const { hits } = await index.find({ tenant, types: [type], where, access: 'everything', order: [], limit: PER_TENANT, total: 'none' })
    return hits.map(({ id }) => id)
  },
})
