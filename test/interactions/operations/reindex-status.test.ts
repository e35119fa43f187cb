/** What is told of documents that are made again. */
import { expect, it } from '@jest/globals'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { reindexStatus } from '../../../lambdas/interactions/operations/reindex.ts'

it('$reindex-status warns if the heartbeats do not cover the stream', async () => {
  const progress = {
    status: async () => ({ definitions: [], rebuilds: [], unreadable: [], uncovered: true as const }),
    parameters: async () => [],
  }
  const { body } = await reindexStatus({ progress })({ tenant: 't' } as FhirRequest)
  expect(body).toEqual({
    resourceType: 'Parameters',
    parameter: [{ name: 'warning', valueString: expect.stringContaining('more than 500 partitions') }],
  })
})

it('$reindex-status names rebuilds, their progress, and types without searches', async () => {
  const rebuilds = [
    { type: 'Basic', done: 3, total: -1 },
    { type: 'Patient', done: 42, total: 100, isSearched: false },
  ]
  const progress = {
    status: async (tenant: string) => ({ definitions: [], rebuilds: tenant === 't' ? rebuilds : [], unreadable: [] }),
    parameters: async () => [],
  }
  const { status, body } = await reindexStatus({ progress })({ tenant: 't' } as FhirRequest)
  const of = (type: string, done: number, ...more: readonly object[]) => ({
    name: 'rebuild',
    part: [{ name: 'type', valueCode: type }, { name: 'done', valueInteger: done }, ...more],
  })
  expect([status, body]).toEqual([
    200,
    {
      resourceType: 'Parameters',
      parameter: [of('Basic', 3), of('Patient', 42, { name: 'total', valueInteger: 100 }, { name: 'searched', valueBoolean: false })],
    },
  ])
})

it('$reindex-status estimates the hours of the rebuilds', async () => {
  const progress = { status: async () => ({ definitions: [], rebuilds: [], unreadable: [], hours: 18 }), parameters: async () => [] }
  const { body } = await reindexStatus({ progress })({ tenant: 't' } as FhirRequest)
  expect(body).toEqual({ resourceType: 'Parameters', parameter: [{ name: 'hours', valueInteger: 18 }] })
})
