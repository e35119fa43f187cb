/** Search parameters that read elements that a view hides. */
import { describe, expect, it } from '@jest/globals'
import { viewOf } from '../../../lambdas/access/view/view.ts'
import { searchContextUnder } from '../../../lambdas/access/view/view-rules.ts'
import { isElement, type Resource } from '../../../lambdas/fhir/resource.ts'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { customMappingsOf } from '../../../lambdas/search/custom/custom-parameters.ts'
import type { CustomMapping } from '../../../lambdas/search/custom-mapping.ts'
import { cacheByText } from '../../../lambdas/search/interned-texts.ts'
import { parametersOf, type SearchParameter } from '../../../lambdas/search/parameters.ts'
import { isHiddenParameter } from '../../../lambdas/search/query/hidden-parameters.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'
import type { SearchContext } from '../../../lambdas/search/search-context.ts'
import { markedClaim } from '../../access/view/generated-claims.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { CLAIM_PAIRS } from '../../fixtures/payer/claims.ts'
import { GUIDES } from '../../fixtures/payer/guides.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'

const READING: SearchContext = searchContextUnder('payer', { baseUrl: 'http://example.org' })
const isHidden = (type: string, each: Parameters<typeof isHiddenParameter>[2]) => isHiddenParameter(READING.hiddenPaths!, type, each)

const customOf = (base: string, expression: string, type = 'token', more: object = {}): readonly CustomMapping[] =>
  customMappingsOf({ resourceType: 'SearchParameter', status: 'active', code: 'own', type, expression, base: [base], ...more }, 't')

const isHiddenOwn = (base: string, expression: string, type?: string, more?: object): boolean =>
  isHidden(base, parametersOf(base, customOf(base, expression, type, more)).find(({ code }) => code === 'own')!)

describe('a parameter of R4', () => {
  it('reads nothing hidden, except the profiles of claims and the members of Groups', () => {
    const { shownParameters = {} } = READING
    const hidden = resourceTypes.flatMap((type) =>
      parametersOf(type)
        .filter((each) => isHidden(type, each) && shownParameters[type]?.includes(each.code) !== true)
        .map(({ code }) => `${type} ${code}`),
    )
    expect(hidden).toEqual(['Bundle composition', 'Bundle message', 'ExplanationOfBenefit _profile', 'Group member'])
  })
})

describe('the parameters of the guides of payers', () => {
  const custom = GUIDES.flatMap(({ resources }) => resources)
    .filter(({ resourceType }) => resourceType === 'SearchParameter')
    .flatMap((definition) => customMappingsOf({ ...definition, status: 'active' } as Resource, 't'))
  const newOn = (type: string): readonly SearchParameter[] => parametersOf(type, custom).slice(parametersOf(type).length)

  it('read nothing hidden', () => {
    expect(resourceTypes.flatMap((type) => newOn(type).flatMap((each) => (isHidden(type, each) ? [`${type} ${each.code}`] : [])))).toEqual(
      [],
    )
    expect(new Set(newOn('ExplanationOfBenefit').map(({ code }) => code))).toEqual(
      new Set(['billable-period-start', 'insurer', 'service-date', 'service-start-date', 'type', 'use']),
    )
  })

  it('have the same values in a claim of CARIN and in its view', () => {
    const valuesOf = (claim: Resource) =>
      newOn('ExplanationOfBenefit').map((each) => [each.code, each.values(claim).map(({ value }) => value)])
    const found = CLAIM_PAIRS.map(([claim]) => {
      const values = valuesOf(claim)
      expect([claim.id, valuesOf(viewOf(claim, 'payer', { isLoaded: () => true })!)]).toEqual([claim.id, values])
      return values.flatMap(([code, each]) => (each!.length === 0 ? [] : [code]))
    })
    expect(new Set(found.flat()).size).toBe(6)
  })
})

describe('a parameter of a package or a tenant', () => {
  it.each([
    ['ExplanationOfBenefit.use', 'token'],
    ['ExplanationOfBenefit.type', 'token'],
    ['ExplanationOfBenefit.insurer', 'reference'],
    ['ExplanationOfBenefit.billablePeriod | ExplanationOfBenefit.item.serviced.ofType(date)', 'date'],
    ['ExplanationOfBenefit.item.productOrService', 'token'],
    ['ExplanationOfBenefit.item.first().productOrService', 'token'],
    ["ExplanationOfBenefit.careTeam.where(role.coding.code = 'x').provider", 'reference'],
    ["ExplanationOfBenefit.extension.where(url = 'u').value.ofType(date)", 'date'],
    ['ExplanationOfBenefit.formCode', 'token'],
    ['ExplanationOfBenefit.meta.source', 'uri'],
  ])('searches claims by %s', (expression, type) => expect(isHiddenOwn('ExplanationOfBenefit', expression, type)).toBe(false))

  it.each([
    ['ExplanationOfBenefit.total.amount.value', 'number'],
    ['ExplanationOfBenefit.total.category', 'token'],
    ['ExplanationOfBenefit.payment.date', 'date'],
    ['ExplanationOfBenefit.item.adjudication.category', 'token'],
    ['ExplanationOfBenefit.item.detail.subDetail.net.value', 'number'],
    ['ExplanationOfBenefit.item.net.currency', 'token'],
    ['ExplanationOfBenefit.status | ExplanationOfBenefit.payment.date', 'token'],
    ['ExplanationOfBenefit.item.where(net.value > 100).productOrService', 'token'],
    ['ExplanationOfBenefit.item.where(adjudication.amount.exists()).productOrService', 'token'],
    ['ExplanationOfBenefit.item.where(%resource.payment.exists()).productOrService', 'token'],
    ['ExplanationOfBenefit.item.where(quantity.value > 1 and net.exists()).productOrService', 'token'],
    ['ExplanationOfBenefit.item.exclude(%resource.item.where(net.value = 5)).productOrService', 'token'],
    ['ExplanationOfBenefit.item.all(net.value > 5)', 'token'],
    ['iif(ExplanationOfBenefit.total.exists(), ExplanationOfBenefit.status, ExplanationOfBenefit.use)', 'token'],
    ['ExplanationOfBenefit.item.quantity', 'quantity'],
    ['ExplanationOfBenefit.supportingInfo.value.ofType(Quantity).code', 'token'],
    ['ExplanationOfBenefit.supportingInfo.category', 'token'],
    ["ExplanationOfBenefit.extension.where(url = 'u')", 'quantity'],
    ["ExplanationOfBenefit.extension.where(url = 'u').url", 'uri'],
    ["ExplanationOfBenefit.extension.where(url = 'u').value.ofType(Money).currency", 'token'],
    ['ExplanationOfBenefit.item.quantity.unit', 'string'],
    ["ExplanationOfBenefit.item.where(extension.url = 'u').productOrService", 'token'],
    ["ExplanationOfBenefit.item.where(extension.where(url = 'u').exists()).productOrService", 'token'],
    ["ExplanationOfBenefit.extension.where(url = 'u' and value.ofType(Money).exists()).value.ofType(date)", 'date'],
    ["ExplanationOfBenefit.extension.where(url = 'u').value.ofType(Money).value", 'number'],
    ['ExplanationOfBenefit.descendants().exists()', 'token'],
    ['ExplanationOfBenefit.children().count() > 5', 'token'],
    ['ExplanationOfBenefit.text.div', 'string'],
    ['ExplanationOfBenefit.form.title', 'string'],
    ['ExplanationOfBenefit.meta.profile', 'uri'],
    ['ExplanationOfBenefit.contained.ofType(Claim).id', 'token'],
  ])('does not search claims by %s', (expression, type) => expect(isHiddenOwn('ExplanationOfBenefit', expression, type)).toBe(true))

  it.each([
    ['Coverage', 'Coverage.costToBeneficiary.type', true],
    ['Coverage', 'Coverage.class.name', false],
    ['Observation', 'Observation.value.ofType(Quantity)', false],
    ['Observation', 'Observation.contained.ofType(ExplanationOfBenefit).total.amount.value', true],
    ['Bundle', 'Bundle.entry.resource.ofType(ExplanationOfBenefit).payment.date', true],
    ['Parameters', 'Parameters.parameter.resource.id', true],
  ])('reads something hidden on %s by %s: %s', (base, expression, hidden) => expect(isHiddenOwn(base, expression)).toBe(hidden))

  it('is judged by its components if it is a composite', () => {
    const component = (expression: string) => [
      { definition: 'http://hl7.org/fhir/SearchParameter/ExplanationOfBenefit-status', expression: 'status' },
      { definition: 'http://hl7.org/fhir/SearchParameter/ExplanationOfBenefit-disposition', expression },
    ]
    const isHiddenComposite = (from: string, expression: string) =>
      isHiddenOwn('ExplanationOfBenefit', from, 'composite', { component: component(expression) })
    expect([
      isHiddenComposite('ExplanationOfBenefit', 'disposition'),
      isHiddenComposite('ExplanationOfBenefit', 'payment.type.text'),
      isHiddenComposite('ExplanationOfBenefit', 'item.where(net.value > 5).productOrService.text'),
    ]).toEqual([false, true, true])
  })

  it('is hidden on every type if it is interpreted', () => {
    const [mapping] = customOf('Patient', 'Patient.name.family', 'string')
    expect(isHidden('Patient', parametersOf('Patient', [mapping!]).at(-1)!)).toBe(false)
    expect(isHidden('Patient', parametersOf('Patient', [{ ...mapping!, interpreted: true }]).at(-1)!)).toBe(true)
  })
})

/** Returns the paths of the members of a resource, without those of other resources in it. */
function pathsIn(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, path))
  if (!isElement(value)) return [path]
  const members = Object.entries(value).filter(([name]) => name !== 'contained' && name !== 'resourceType' && !name.startsWith('_'))
  return [...(path === '' ? [] : [path]), ...members.flatMap(([name, each]) => pathsIn(each, path === '' ? name : `${path}.${name}`))]
}

const TYPES = ['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity']

/** Returns the parameters of a path of any type that the path suits. */
const parametersOn = (path: string): readonly SearchParameter[] =>
  TYPES.flatMap((type) => {
    try {
      const custom = customOf('ExplanationOfBenefit', `ExplanationOfBenefit.${path}`, type)
      return parametersOf('ExplanationOfBenefit', custom).filter(({ code }) => code === 'own')
    } catch {
      return []
    }
  })

describe('a parameter that reads nothing hidden', () => {
  it('has the same values in a claim and in its view, on each path of generated claims', () => {
    const random = createPrintedRandom('claims and the parameters on their paths')
    const parametersBy = cacheByText(10_000, parametersOn)
    const shown = new Set<string>()
    const differing = new Set<string>()
    for (let n = 0; n < caseCountOf(20, 500); n++) {
      const { claim } = markedClaim(random, random.pick(['claim', 'preauthorization', 'predetermination'] as const))
      const view = viewOf(claim, 'payer', { isLoaded: () => false })!
      // A reference to a contained resource that the view hides is removed with it.
      const textOf = (parameter: SearchParameter, resource: Resource) =>
        JSON.stringify(parameter.values(resource).filter(({ value }) => !JSON.stringify(value).includes('#')))
      for (const path of new Set(pathsIn(claim)))
        for (const parameter of parametersBy(path)) {
          const isDifferent = textOf(parameter, claim) !== textOf(parameter, view)
          if (isHidden('ExplanationOfBenefit', parameter)) continue
          shown.add(path)
          if (isDifferent) differing.add(path)
        }
    }
    expect([...differing]).toEqual([])
    expect([...shown]).toEqual(expect.arrayContaining(['status', 'use', 'item.productOrService.text', 'insurance.coverage', 'disposition']))
  })
})

describe('a search under a view', () => {
  const custom = [
    ...customOf('ExplanationOfBenefit', 'ExplanationOfBenefit.total.amount.value', 'number'),
    ...customOf('ExplanationOfBenefit', 'ExplanationOfBenefit.payment.extension.value.ofType(Reference)', 'reference', { code: 'paid' }),
  ]
  const searchOf = (type: string | undefined, query: string) => () =>
    parseSearch(type, [...new URLSearchParams(query)], { ...READING, custom, handling: 'strict' })

  it.each([
    ['ExplanationOfBenefit', 'own=gt5', 'own'],
    ['ExplanationOfBenefit', 'own:missing=true', 'own'],
    ['ExplanationOfBenefit', '_sort=status,-own', 'own'],
    ['ExplanationOfBenefit', '_group=_profile', '_profile'],
    ['ExplanationOfBenefit', '_group=status&_groupSort=own', 'own'],
    ['ExplanationOfBenefit', 'paid.name=x', 'paid'],
    ['ExplanationOfBenefit', '_include=ExplanationOfBenefit:paid', 'paid'],
    ['Patient', '_revinclude=ExplanationOfBenefit:paid', 'paid'],
    ['Patient', '_has:ExplanationOfBenefit:patient:own=5', 'own'],
    ['Patient', '_has:ExplanationOfBenefit:paid:status=active', 'paid'],
    ['Coverage', '_has:ExplanationOfBenefit:coverage:patient:Patient._has:ExplanationOfBenefit:patient:own=5', 'own'],
    ['Provenance', 'target:ExplanationOfBenefit.own=5', 'own'],
    [undefined, '_profile=http://example.org/a', '_profile'],
    [undefined, '_type=Patient,ExplanationOfBenefit&_profile:missing=true', '_profile'],
  ])('returns 403 for %s by %s, and names %s', (type, query, code) =>
    expect(searchOf(type, query)).toThrow(
      expect.objectContaining({ status: 403, message: expect.stringContaining(`parameter ${code} of ExplanationOfBenefit`) }),
    ),
  )

  it.each([
    ['ExplanationOfBenefit', 'status=active&_sort=-created&_include=*&_revinclude=*&_include=ExplanationOfBenefit:*'],
    ['ExplanationOfBenefit', '_group=status&_groupSort=-_lastUpdated'],
    ['ExplanationOfBenefit', 'patient.name=x&coverage.payor.name=y'],
    ['Patient', '_profile=http://example.org/a&_has:ExplanationOfBenefit:patient:status=active'],
    [undefined, '_type=Patient,Coverage&_profile=http://example.org/a'],
    [undefined, '_lastUpdated=gt2020&_sort=_id'],
  ])('uses parameters that read shown elements: %s by %s', (type, query) => expect(searchOf(type, query)).not.toThrow())
})
