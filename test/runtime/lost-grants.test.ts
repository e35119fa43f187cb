/** A lost file of grants: tokens revoked in it must not become valid again. An intact file changes nothing. */
import { readdirSync, rmSync, truncateSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { FilesystemSigningKeys } from '../../lambdas/adapters/filesystem/signing-keys.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'

const DAY = 86_400_000

async function started(dataFolder: string, ahead = 0) {
  const warned: string[] = []
  const failed: unknown[] = []
  const embedded: EmbeddedServer = await openEmbeddedServer({
    ...{ config: readConfig({ FHIR_ACCESS: 'token' }), baseUrl: 'http://127.0.0.1/fhir', dataFolder },
    times: { wall: () => Date.now() + ahead, steady: () => performance.now(), sinceBoot: () => uptime() * 1_000 },
    report: (error) => void failed.push(error),
    warn: (line) => void warned.push(line),
  })
  runAtEnd(() => embedded.close())
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const { port } = embedded.server.address() as AddressInfo
  const reads = async (token: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/fhir/Patient`, { headers: { authorization: `Bearer ${token}` } })).status
  return { embedded, reads, lost: () => warned.filter((line) => line.includes('was lost')), failed }
}

it.each(['missing', 'empty'])('a %s file of grants revokes older tokens, is reported once, and stops commands', async (how) => {
  const folder = newFolder()
  const file = join(folder, 'grants.db')
  const first = await started(folder)
  const token = await first.embedded.issue({ isAdministrator: false })
  expect([await first.reads(token), first.lost()]).toEqual([200, []])
  await first.embedded.close()
  const kept = await started(folder)
  expect([await kept.reads(token), kept.lost()]).toEqual([200, []])
  await kept.embedded.close()
  for (const name of readdirSync(folder)) if (name.startsWith('grants.db-')) rmSync(join(folder, name))
  if (how === 'missing') rmSync(file)
  else truncateSync(file, 0)
  await expect(openAdministration(folder, { isNew: false })).rejects.toThrow(`${file} was lost: put it back from a backup`)
  const again = await started(folder)
  expect([await again.reads(token), again.lost()]).toEqual([401, [expect.stringContaining(`${file} was lost: no token counts`)]])
  expect(await again.reads(await again.embedded.issue({ isAdministrator: false }))).toBe(200)
  await again.embedded.close()
  const last = await started(folder)
  expect([last.lost(), last.failed]).toEqual([[], []])
})

it('a start removes no signing key, because the clock is not checked yet', async () => {
  const folder = newFolder()
  const keys = new FilesystemSigningKeys(join(folder, 'signing-keys'))
  await (await openAdministration(folder, { isNew: true })).close()
  const old = await keys.make(Date.now() - DAY)
  await keys.retire(old.key.kid, Date.now())
  await started(folder, 100 * DAY)
  expect((await keys.list()).map(({ key }) => key.kid)).toContain(old.key.kid)
})
