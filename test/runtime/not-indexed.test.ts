/** The log line of a resource that the embedded server cannot index. */

import type { AddressInfo } from 'node:net'
import { expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { logTextOf } from '../../lambdas/runtime/error-log.ts'
import { clientOf } from '../api/server.ts'
import { eventually } from '../fixtures/eventually.ts'

it('names resource, parameter and request in one line, without content', async () => {
  const lines: (readonly [requestId: string, line: string])[] = []
  await using opened = new AsyncDisposableStack()
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'open' }),
    baseUrl: 'http://127.0.0.1/fhir',
    report: (error, requestId) => lines.push([requestId, logTextOf(error)]),
  })
  opened.defer(() => embedded.close())
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const { get, put } = clientOf(() => `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`)
  const parameter = {
    ...{ resourceType: 'SearchParameter', id: 'single', url: 'http://example.org/single', name: 'single', status: 'active' },
    ...{ description: 'single', code: 'single', base: ['Patient'], type: 'string' },
    expression: 'Patient.repeat(name).given.where($this is string).single()',
  }
  expect((await put('/SearchParameter/single', parameter)).status).toBe(201)
  await eventually(async () => (await get('/$reindex-status')).text.includes('"active"'))
  const patient = { resourceType: 'Patient', id: 'a', name: [{ given: ['Erika', 'Maria'] }] }
  expect((await put('/Patient/a', patient, { 'x-request-id': 'request-7' })).status).toBe(201)
  expect((await get('/Patient?_id=a')).body.total).toBe(1)
  const line =
    'Patient/a/_history/1 of tenant default is not indexed: parameter single: Error. GET /$reindex-status lists all such resources'
  expect(lines).toEqual([['request-7', line]])
})
