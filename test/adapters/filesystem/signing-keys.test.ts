/** The signing keys of the embedded authorization server, in files. */
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemSigningKeys } from '../../../lambdas/adapters/filesystem/signing-keys.ts'
import { signingKeysContract } from '../../contracts/signing-keys.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'

signingKeysContract('files', async () => {
  const folder = join(newFolder(), 'signing-keys')
  return { open: async () => new FilesystemSigningKeys(folder) }
})

describe('The files of signing keys', () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

  it('are readable by their owner only, and no listing reveals the secrets', async () => {
    const before = process.umask(0)
    const folder = join(newFolder(), 'data', 'signing-keys')
    const keys = new FilesystemSigningKeys(folder)
    const { key } = await keys.make(1)
    await keys.retire(key.kid, 2)
    process.umask(before)
    const file = join(folder, `${key.kid}.json`)
    expect([modeOf(folder), modeOf(file), readdirSync(folder)]).toEqual(['700', '600', [`${key.kid}.json`]])
    const { secret } = JSON.parse(readFileSync(file, 'utf8')) as { readonly secret: Readonly<Record<string, string>> }
    expect(secret.d).toBeDefined()
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(JSON.stringify(await keys.list())).not.toContain(secret[name])
  })

  it('are no keys while unfinished, and are removed once they are old', async () => {
    const folder = newFolder()
    const keys = new FilesystemSigningKeys(folder)
    const [old, young, other] = ['a.json.1.unfinished', 'b.json.2.unfinished', 'notes.txt'].map((name) => join(folder, name))
    for (const path of [old!, young!, other!]) writeFileSync(path, '{"secret":')
    utimesSync(old!, 1, 1)
    expect(await keys.list()).toEqual([])
    const { key } = await keys.make(1)
    expect(readdirSync(folder).sort()).toEqual([`${key.kid}.json`, 'b.json.2.unfinished', 'notes.txt'].sort())
    expect(await keys.list()).toHaveLength(1)
  })

  it('are reported by name, without content, if they hold no key or another key', async () => {
    for (const change of ['text', 'other', 'folder'] as const) {
      const folder = newFolder()
      const keys = new FilesystemSigningKeys(folder)
      const { key } = await keys.make(1)
      const file = join(folder, `${key.kid}.json`)
      const text = readFileSync(file, 'utf8')
      const elsewhere = join(folder, `${'A'.repeat(43)}.json`)
      if (change === 'text') writeFileSync(file, text.slice(0, 900))
      if (change === 'other') renameSync(file, elsewhere)
      if (change === 'folder') mkdirSync(elsewhere)
      const failed = await keys.list().then(
        () => undefined,
        (error: Error) => error,
      )
      if (change !== 'folder') expect(failed?.message).toBe(`${change === 'text' ? file : elsewhere} is no signing key of this server`)
      expect(failed).toBeDefined()
      expect(`${failed?.stack}${failed?.cause}`).not.toContain(text.slice(600, 640))
    }
  })
})
