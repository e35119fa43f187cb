/** Which definitions of search parameters count while the packages of several guides, in several versions, are in one server. */
import { describe, expect, it } from '@jest/globals'
import { type Definitions, finishRebuild, NO_DEFINITIONS, withSearchParameter } from '../../../lambdas/indexing/custom-definitions.ts'
import { withoutOtherPackageParameters, withPackageParameters } from '../../../lambdas/indexing/package-parameters.ts'
import { TenantSearchContexts } from '../../../lambdas/indexing/tenant-search-contexts.ts'
import { ACTIVATED, type PackageDefinitions } from '../../../lambdas/ports/definitions/package-definitions.ts'
import { resolvePackageParameters } from '../../../lambdas/search/custom/package-parameters.ts'
import { GUIDES, guideOf } from '../../fixtures/payer/guides.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const definitionsOf = ({ manifest, resources }: (typeof GUIDES)[number]): PackageDefinitions => ({
  ...{ name: manifest.name, version: manifest.version },
  parameters: resources.filter(({ resourceType }) => resourceType === 'SearchParameter') as unknown as PackageDefinitions['parameters'],
})
const packageOf = (name: string, ...parameters: readonly Tree[]): PackageDefinitions => ({
  ...{ name, version: '1.0.0' },
  parameters: parameters as unknown as PackageDefinitions['parameters'],
})
const parameter = (code: string, more: Tree = {}): Tree => ({
  ...{ resourceType: 'SearchParameter', url: `http://example.org/${code}`, status: 'active', code, base: ['Basic'], type: 'reference' },
  expression: 'Basic.subject',
  ...more,
})
const mappingsOf = (...packages: readonly PackageDefinitions[]) => resolvePackageParameters(packages).flatMap(({ mappings }) => mappings)
const statesOf = (...packages: readonly PackageDefinitions[]) =>
  resolvePackageParameters(packages).map(({ package: { name }, code, state }) => `${name} ${code} ${state}`)
const built = (state: Definitions): Definitions => state.rebuilds.reduce(finishRebuild, state)
const searchedBy = (state: Definitions, tenant: string) =>
  new TenantSearchContexts({}, 'searches')
    .of(state, tenant)
    .custom?.map(({ base, code, url }) => `${base} ${code} ${url.split('/').at(-1)}`)

describe('the guides of payers in ten packages', () => {
  const all = GUIDES.map(definitionsOf)

  it('have one definition for each code of a type that R4 lacks', () => {
    const used = resolvePackageParameters(all).flatMap(({ mappings, package: { name, version } }) =>
      mappings.map(({ base, code }) => `${base} ${code} ${name.replace(/^.*[.]/, '')} ${version}`),
    )
    expect(used.toSorted()).toEqual([
      'Consent provider-access davinci-pdex 2.2.0',
      'Consent provision-action davinci-pdex 2.2.0',
      'Consent provision-type davinci-pdex 2.2.0',
      'ExplanationOfBenefit billable-period-start carin-bb 2.2.0',
      'ExplanationOfBenefit insurer carin-bb 2.2.0',
      'ExplanationOfBenefit service-date carin-bb 2.2.0',
      'ExplanationOfBenefit service-start-date carin-bb 2.2.0',
      'ExplanationOfBenefit type carin-bb 2.2.0',
      'ExplanationOfBenefit use davinci-pdex 2.2.0',
      'Group characteristic-value-reference davinci-pdex 2.2.0',
      'HealthcareService delivery-method davinci-pdex-plan-net 1.2.0',
      'InsurancePlan coverage-area davinci-pdex-plan-net 1.2.0',
      'InsurancePlan network davinci-pdex-plan-net 1.2.0',
      'InsurancePlan plan-type davinci-pdex-plan-net 1.2.0',
      'Organization coverage-area davinci-pdex-plan-net 1.2.0',
      'Organization period davinci-pdex-plan-net 1.2.0',
      'OrganizationAffiliation period davinci-pdex-plan-net 1.2.0',
      'Practitioner period davinci-pdex-plan-net 1.2.0',
      'PractitionerRole network davinci-pdex-plan-net 1.2.0',
      'PractitionerRole period davinci-pdex-plan-net 1.2.0',
    ])
    expect(resolvePackageParameters(all).filter(({ state }) => state === 'refused')).toEqual([])
  })

  it('count alike in each order of the packages', () => {
    expect(mappingsOf(...all.toReversed())).toEqual(mappingsOf(...all))
  })
})

describe('a parameter of a package', () => {
  it('is refused without an expression, with one that may take long, or with an unknown type', () => {
    const { expression: _, ...without } = parameter('without')
    const bad = packageOf(
      'bad',
      without,
      parameter('endless', { type: 'string', expression: "Basic.descendants().where($this.toString().matches('(a+)+b'))" }),
      parameter('long', { expression: `Basic.subject${'.where(true)'.repeat(10_000)}` }),
      parameter('special', { type: 'special' }),
      parameter('homeless', { base: ['Nothing'] }),
      parameter('fine'),
    )
    expect(statesOf(bad)).toEqual([
      'bad endless refused',
      'bad fine used',
      'bad homeless refused',
      'bad long refused',
      'bad special refused',
      'bad without refused',
    ])
  })

  it("never replaces that of R4, and is shadowed by another package's", () => {
    const packages = [
      packageOf('b', parameter('code'), parameter('both')),
      packageOf('a', parameter('both', { url: 'http://example.org/other' })),
    ]
    expect(statesOf(...packages)).toEqual(['a both used', 'b both shadowed', 'b code r4'])
  })

  it('counts as an activated draft only if no other definition has its code', () => {
    const draft = (code: string, more: Tree = {}) => parameter(code, { status: 'draft', [ACTIVATED]: true, ...more })
    const early = packageOf('a', draft('one'), draft('two'), draft('code'), parameter('three', { status: 'draft' }))
    expect(statesOf(early)).toEqual(['a three inactive', 'a code r4', 'a one used', 'a two used'])
    expect(resolvePackageParameters([early]).filter(({ isDraft }) => isDraft).length).toBe(3)
    const late = packageOf('b', parameter('two', { expression: 'Basic.author' }), draft('one', { expression: 'Basic.author' }))
    for (const packages of [
      [early, late],
      [late, early],
    ])
      expect(statesOf(...packages)).toEqual([
        ...['a three inactive', 'b two used', 'a code r4', 'a one used', 'a two shadowed', 'b one shadowed'],
      ])
    expect(statesOf(packageOf('a', draft('one', { status: 'retired' })))).toEqual(['a one inactive'])
  })

  it('may be a composite of parameters of packages', () => {
    const composite = parameter('pair', {
      ...{ type: 'composite', expression: 'Basic' },
      component: [
        { definition: 'http://example.org/one', expression: 'subject' },
        { definition: 'http://hl7.org/fhir/SearchParameter/Basic-code', expression: 'code' },
      ],
    })
    expect(statesOf(packageOf('p', parameter('one'), composite))).toEqual(['p one used', 'p pair used'])
    expect(statesOf(packageOf('p', composite))).toEqual(['p pair refused'])
  })

  it('is searched by until that of another version is built', () => {
    const before = built(withPackageParameters(NO_DEFINITIONS, mappingsOf(packageOf('p', parameter('one'))), 1))
    const after = withPackageParameters(before, mappingsOf(packageOf('p', parameter('one', { expression: 'Basic.author' }))), 2)
    const fieldOf = ({ definitions }: Definitions) => definitions.flatMap(({ mapping, state }) => (state === 'active' ? mapping.field : []))
    expect([fieldOf(after), after.rebuilds.length]).toEqual([fieldOf(before), 1])
    expect([fieldOf(built(after)).length, built(after).definitions.length]).toEqual([1, 1])
    expect(fieldOf(built(after))).not.toEqual(fieldOf(before))
  })

  it('stays built if another package defines it in the same words, and the first package is removed', () => {
    const [first, other] = [packageOf('a', parameter('one')), packageOf('b', parameter('one', { url: 'http://example.org/other' }))]
    const state = built(withPackageParameters(NO_DEFINITIONS, mappingsOf(first, other), 1))
    expect(withPackageParameters(state, mappingsOf(other), 2)).toBe(state)
  })

  it('ends alone if its package is removed: others stay built, and new ones are not added', () => {
    const [one, two] = [packageOf('a', parameter('one')), packageOf('b', parameter('two'))]
    const state = built(withPackageParameters(NO_DEFINITIONS, mappingsOf(one, two), 1))
    const more = packageOf('c', parameter('three'))
    const left = withoutOtherPackageParameters(state, mappingsOf(two, more), 2)
    expect([left.definitions.map(({ mapping }) => mapping.code), left.rebuilds]).toEqual([['two'], []])
    const renamed = packageOf('d', parameter('one', { url: 'http://example.org/other' }))
    expect(withoutOtherPackageParameters(state, mappingsOf(renamed, two), 2)).toBe(state)
  })

  it('beyond the quota of a tenant is not registered', () => {
    const many = packageOf('p', ...Array.from({ length: 201 }, (_, i) => parameter(`p${i}`)))
    expect(withPackageParameters(NO_DEFINITIONS, mappingsOf(many), 1).definitions.length).toBe(200)
  })
})

describe('a parameter of a tenant', () => {
  const written = (state: Definitions, body: Tree) =>
    withSearchParameter(state, versionOf(writeOf(resourceKeyOf('t', 'SearchParameter', 'own'), { body: { ...body, id: 'own' } })))
  const own = parameter('one', { url: 'http://example.org/own' })
  const packaged = mappingsOf(packageOf('p', parameter('one')))

  it('precedes the package if it is older, and other tenants use the package', () => {
    const state = built(withPackageParameters(built(written(NO_DEFINITIONS, own)), packaged, 1))
    expect([searchedBy(state, 't')?.[0], searchedBy(state, 'other')]).toEqual(['Basic one own', ['Basic one one']])
  })

  it('follows the package if it is newer, until the package is removed', () => {
    const state = built(written(built(withPackageParameters(NO_DEFINITIONS, packaged, 1)), own))
    expect(searchedBy(state, 't')?.[0]).toBe('Basic one one')
    const removed = withPackageParameters(state, [], 2)
    expect([searchedBy(removed, 't'), searchedBy(removed, 'other')]).toEqual([['Basic one own'], undefined])
    // The package that comes back is newer.
    expect(searchedBy(built(withPackageParameters(removed, packaged, 3)), 't')?.[0]).toBe('Basic one own')
  })

  it('stays when a package with the same definition is removed', () => {
    const same = guideOf('carin-bb@2.2.0').resources.find(({ code }) => code === 'service-date')!
    const state = built(written(NO_DEFINITIONS, same))
    const both = built(withPackageParameters(state, mappingsOf(definitionsOf(guideOf('carin-bb@2.2.0'))), 1))
    const codesIn = (each: Definitions) => searchedBy(each, 't')?.filter((text) => text.includes(' service-date '))
    expect([codesIn(both)?.length, codesIn(withPackageParameters(both, [], 2))]).toEqual([1, codesIn(state)])
  })
})
