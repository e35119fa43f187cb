/** A restore beside a running server, when one of its steps fails: the operator learns the outcome, and requests are answered again. */
import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { RequestGate } from '../../../lambdas/runtime/embedded/request-gate.ts'
import { storeRestorer } from '../../../lambdas/runtime/embedded/restore.ts'
import { openStores } from '../../../lambdas/runtime/embedded/stores.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { itRequiring } from '../../fixtures/needing.ts'

type Faults = { readonly close?: Error; readonly commit?: Error; readonly opens?: number }

/** `opens`: attempts to open that fail. */
function serverWith({ close, commit, opens = 0 }: Faults) {
  const log: string[] = []
  const warnings: string[] = []
  const ending = new AbortController()
  let kept = 'old'
  let failing = opens
  const homeOf = (data: string) => ({
    data,
    async close() {
      log.push(`close ${data}`)
      if (close !== undefined && data === 'old') throw close
    },
  })
  const gate = new RequestGate(homeOf(kept))
  const restore = storeRestorer({
    gate,
    async commit(file) {
      if (commit !== undefined) throw commit
      kept = file
    },
    async open() {
      if (failing-- > 0) throw new Error(`EMFILE ${failing}`)
      log.push(`open ${kept}`)
      return homeOf(kept)
    },
    warn: (line) => warnings.push(line),
    attempts: { signal: ending.signal, pause: 1 },
  })
  const ask = () =>
    gate.pass(
      async ({ data }) => data,
      async () => '503',
    )
  return { gate, restore, ask, log, warnings, ending }
}

const opened = ({ gate }: { readonly gate: { readonly isOpen: boolean } }): Promise<boolean> => eventually(() => gate.isOpen)

describe('A restore', () => {
  it('closes the old store before it opens the restored one', async () => {
    const server = serverWith({})
    await server.restore('backup')
    expect([server.log, await server.ask(), server.warnings]).toEqual([['close old', 'open backup'], 'backup', []])
  })

  it('keeps the old store if it cannot be committed, and reports why', async () => {
    const server = serverWith({ commit: new Error('ENOSPC') })
    await expect(server.restore('backup')).rejects.toThrow(/^Nothing was restored: ENOSPC$/)
    expect([await server.ask(), server.warnings]).toEqual(['old', []])
  })

  it('keeps the old store if that cannot be closed, and serves it again', async () => {
    const server = serverWith({ close: new Error('EIO') })
    await expect(server.restore('backup')).rejects.toThrow(/^Nothing was restored: EIO$/)
    expect([server.log, await server.ask()]).toEqual([['close old', 'open old'], 'old'])
  })

  it.each([
    [{ opens: 5 }, /^It is restored, but the server cannot open its store \(EMFILE 4\): it tries again/, 'backup'],
    [{ opens: 5, commit: new Error('ENOSPC') }, /^Nothing was restored \(ENOSPC\), but the server cannot open its store/, 'old'],
  ])('reports its outcome if the store cannot be opened, and opens it later: %j', async (faults, message, then) => {
    const server = serverWith(faults)
    const restored = server.restore('backup')
    expect(await server.ask()).toBe('503')
    await expect(restored).rejects.toThrow(message)
    await opened(server)
    expect(await server.ask()).toBe(then)
    expect(server.warnings).toEqual([
      'The store cannot be opened (EMFILE 4): requests are answered 503 until it can',
      'The store is open again',
    ])
  })

  it('does not keep a server from stopping', async () => {
    const server = serverWith({ opens: Number.POSITIVE_INFINITY })
    await expect(server.restore('backup')).rejects.toThrow('It is restored, but')
    server.ending.abort()
    await server.gate.close(({ close }) => close())
    expect([server.log, await server.ask()]).toEqual([['close old'], '503'])
  })
})

itRequiring('/proc/self/fd', existsSync('/proc/self/fd'))(
  'Stores close all their files if one of their parts cannot be opened',
  async () => {
    const folder = newFolder()
    const openFiles = (): number => readdirSync('/proc/self/fd').length
    const parts = { path: (name: string) => `${folder}/${name}`, now: () => 1, budget: 1_000, report: () => undefined }
    const reading = { baseUrl: 'http://a' }
    await (await openStores({ ...parts, reading })).close()
    const before = openFiles()
    // A function cannot be sent to a thread.
    const unclonable = { ...reading, of: () => undefined }
    await expect(openStores({ ...parts, reading: unclonable })).rejects.toThrow('could not be cloned')
    expect(openFiles()).toBe(before)
  },
)
