/** Limits of packages, and search parameters that a package cannot have. */
import { describe, expect, it } from '@jest/globals'
import { addPackage, listPackages, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { writeArchiveFile } from '../fixtures/packages.ts'
import type { Tree } from '../fixtures/resources.ts'

const parameter = (id: string, more: Tree = {}): Tree => ({
  ...{
    resourceType: 'SearchParameter',
    id,
    url: `http://example.org/${id}`,
    status: 'active',
    code: id,
    base: ['Basic'],
    type: 'reference',
  },
  expression: 'Basic.subject',
  ...more,
})

async function added(...parameters: readonly Tree[]) {
  const packages = await openPackages(newFolder(), true)
  try {
    const file = await writeArchiveFile({
      'package/package.json': { name: 'example.guide', version: '1.0.0' },
      ...Object.fromEntries(parameters.map((each) => [`package/SearchParameter-${each.id}.json`, each])),
    })
    const failure = await addPackage(packages, { file }).then(
      () => undefined,
      ({ message }: Error) => message,
    )
    const listed = (await listPackages(packages)).find(({ name }) => name === 'example.guide')
    return { failure, states: listed?.parameters.map(({ code, state }) => `${code} ${state}`) }
  } finally {
    await packages.close()
  }
}

describe('A package', () => {
  it('may have 2,000 search parameters and no more', async () => {
    const many = Array.from({ length: 2_001 }, (_, i) => parameter(`p${i}`, { status: 'draft' }))
    expect((await added(...many.slice(1))).states?.length).toBe(2_000)
    expect(await added(...many)).toEqual({
      failure: 'example.guide 1.0.0 has 2001 search parameters; a package may have 2000. It is not added',
      states: undefined,
    })
  })

  it('is searched by at most 200 parameters on a type', async () => {
    const many = Array.from({ length: 201 }, (_, i) => parameter(`p${i}`))
    const { states = [] } = await added(...many)
    expect([states.length, states.filter((each) => each.endsWith(' waiting')).length]).toEqual([201, 200])
    expect(states.filter((each) => each.endsWith(' refused')).length).toBe(1)
  })

  it('is added although some of its search parameters cannot be used', async () => {
    const { expression: _, ...without } = parameter('without')
    const bad = [
      without,
      parameter('endless', { expression: `Basic.subject${'.where(true)'.repeat(10_000)}` }),
      parameter('code'),
      ...[parameter('of-number', { expression: 7 }), parameter('of-list', { base: 'Basic' }), parameter('untyped', { type: undefined })],
      ...[parameter('draft', { status: 'draft' }), parameter('fine')],
    ]
    expect(await added(...bad)).toEqual({
      failure: undefined,
      states: [
        'code r4',
        'draft inactive',
        'endless refused',
        'fine waiting',
        'of-list refused',
        'of-number refused',
        'untyped refused',
        'without refused',
      ],
    })
  })
})
