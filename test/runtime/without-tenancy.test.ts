/** A server with data of several tenants starts without tenancy: the data of other tenants are inaccessible, and the start warns the operator. */
import type { AddressInfo } from 'node:net'
import { expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { failOnReport } from '../fixtures/never-reports.ts'

const TYPE = { 'content-type': 'application/fhir+json' }

async function started(dataFolder: string, tenancy: 'on' | 'off') {
  const warned: string[] = []
  const embedded = await openEmbeddedServer({
    ...{ config: readConfig({ FHIR_TENANCY: tenancy }), baseUrl: 'http://127.0.0.1/fhir', dataFolder },
    report: failOnReport,
    warn: (line) => void warned.push(line),
  })
  runAtEnd(() => embedded.close())
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const { port } = embedded.server.address() as AddressInfo
  const ask = async (token: string, init: RequestInit = {}): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/fhir/Patient/a`, { ...init, headers: { ...TYPE, authorization: `Bearer ${token}` } })).status
  return { ...embedded, warned, ask }
}

it('the data of other tenants are hidden, not lost, and a start warns about them', async () => {
  const folder = newFolder()
  const before = await started(folder, 'on')
  const tokens: string[] = []
  for (const tenant of ['north', 'south', 'east', 'west']) {
    const token = await before.issue({ isAdministrator: false, tenant })
    expect(await before.ask(token, { method: 'PUT', body: JSON.stringify({ resourceType: 'Patient', id: 'a', active: true }) })).toBe(201)
    tokens.push(token)
  }
  expect(before.warned).toEqual([])
  await before.close()
  const without = await started(folder, 'off')
  expect(without.warned).toEqual([
    'no client can reach the data of tenants other than "default" (east, north, south and more), because FHIR_TENANCY is off',
  ])
  for (const token of tokens) expect([await without.ask(token), await without.ask(token, { method: 'DELETE' })]).toEqual([403, 403])
  expect(await without.ask(await without.issue({ isAdministrator: false }))).toBe(404)
  await expect(without.issue({ isAdministrator: false, tenant: 'north' })).rejects.toThrow('There is no tenant north')
  await without.close()
  const again = await started(folder, 'on')
  expect([again.warned, await again.ask(tokens[0]!)]).toEqual([[], 200])
})
