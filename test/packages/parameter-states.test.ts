/** States of the search parameters of packages in an index, as `fhir package list` shows them. */
import { describe, expect, it } from '@jest/globals'
import { finishRebuild, NO_DEFINITIONS } from '../../lambdas/indexing/custom-definitions.ts'
import { withPackageParameters } from '../../lambdas/indexing/package-parameters.ts'
import { buildStatesIn, type ParameterStates, withBuildState } from '../../lambdas/runtime/control/parameter-states.ts'
import { resolvePackageParameters } from '../../lambdas/search/custom/package-parameters.ts'
import type { Tree } from '../fixtures/resources.ts'

const definition = (code: string, expression: string, more: Tree = {}): Tree => ({
  ...{ resourceType: 'SearchParameter', url: `http://example.org/${code}`, status: 'active', code, base: ['Basic'], type: 'reference' },
  ...{ expression, ...more },
})
const parametersOf = (...parameters: readonly Tree[]) =>
  resolvePackageParameters([{ name: 'example.guide', version: '1.0.0', parameters: parameters as never }])
const mappingsOf = (...parameters: readonly Tree[]) => parametersOf(...parameters).flatMap(({ mappings }) => mappings)

const OLD = definition('one', 'Basic.subject')
const NEW = definition('one', 'Basic.author')

const building = withPackageParameters(NO_DEFINITIONS, mappingsOf(OLD), 1)
const built = finishRebuild(building, building.rebuilds[0]!)

describe('a parameter of a package', () => {
  it('is building until the index has its values, also in place of another one', () => {
    expect([...buildStatesIn(building)]).toEqual([['Basic one', 'building']])
    expect([...buildStatesIn(built)]).toEqual([['Basic one', 'active']])
    const replacing = withPackageParameters(built, mappingsOf(NEW), 2)
    expect(replacing.definitions.map(({ state }) => state).toSorted()).toEqual(['active', 'building'])
    expect([...buildStatesIn(replacing)]).toEqual([['Basic one', 'building']])
  })

  it('is listed with its state in the index', () => {
    const [parameter] = parametersOf(definition('one', 'Basic.subject | Flag.subject', { base: ['Basic', 'Flag'] }))
    const listed = (states: Readonly<Record<string, 'building' | 'active'>>, absent: ParameterStates['absent']) =>
      withBuildState(parameter!, { states: new Map(Object.entries(states)), absent }).state
    expect(parameter!.mappings.length).toBe(2)
    expect(withBuildState(parameter!, undefined).state).toBe('waiting')
    expect(listed({ 'Basic one': 'active', 'Flag one': 'active' }, 'refused')).toBe('used')
    expect(listed({ 'Basic one': 'active', 'Flag one': 'building' }, 'refused')).toBe('building')
    expect(listed({ 'Basic one': 'active' }, 'refused')).toBe('used')
    expect([listed({}, 'refused'), listed({}, 'building')]).toEqual(['refused', 'building'])
  })

  it('keeps a state of its definition', () => {
    for (const more of [{ status: 'draft' }, { code: 'code' }, { expression: undefined }]) {
      const [parameter] = parametersOf(definition('one', 'Basic.subject', more))
      expect(withBuildState(parameter!, undefined)).toBe(parameter)
    }
  })
})
