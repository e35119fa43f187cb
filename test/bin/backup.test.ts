/** `fhir backup` and `fhir restore`, beside a server and without one. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { listenForCommands, startServerCommand } from '../../lambdas/adapters/filesystem/command-socket.ts'
import { storeCommands } from '../../lambdas/runtime/control/backup-command.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { fetchJson, type RunningServer, runFhir, startOpenServer } from './process.ts'

const put = ({ base }: RunningServer, id: string, active: boolean) =>
  fetch(`${base}/Patient/${id}`, {
    method: 'PUT',
    body: JSON.stringify({ resourceType: 'Patient', id, active }),
    headers: { 'content-type': 'application/fhir+json' },
  })

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('backup and restore', () => {
  it('of a running server: what was saved is there again, with its history and its searches', async () => {
    const data = newFolder()
    const file = join(newFolder(), 'saved.db')
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    await put(server, 'a', false)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    await put(server, 'a', true)
    await put(server, 'b', true)
    // While a backup is being made; what was brought for nothing may be large.
    const done = await startServerCommand(data, 'backup', '')
    expect((await runFhir('restore', file, '--data', data)).err).toContain('under way: try again')
    done!()
    expect(readdirSync(data).filter((name) => name.includes('restored'))).toEqual([])
    const { code, out } = await runFhir('restore', file, '--data', data)
    expect([code, out]).toEqual([0, expect.stringContaining('its server goes on with it')])
    expect((await fetchJson(`${server.base}/Patient/a/_history`)).entry).toHaveLength(2)
    expect((await fetch(`${server.base}/Patient/b`)).status).toBe(404)
    expect((await fetchJson(`${server.base}/Patient?active=true`)).total).toBe(0)
    expect((await put(server, 'c', true)).status).toBe(201)
    expect((await fetchJson(`${server.base}/Patient?active=true`)).total).toBe(1)
    const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).map((path) => join(data, path))
    expect([file, ...files].filter((path) => ![0o600, 0o700].includes(modeOf(path)))).toEqual([])
    expect(modeOf(join(data, 'socket'))).toBe(0o600)
    await server.stop()
    expect((await runFhir('restore', file, '--data', data)).code).toBe(0)
    const again = await startOpenServer('--data', data)
    expect((await fetchJson(`${again.base}/Patient?_summary=count`)).total).toBe(1)
    await again.stop()
    expect(readdirSync(data).filter((name) => /unfinished|restored|address|socket/.test(name))).toEqual([])
  })

  it('tell that the server cannot open what was restored; it does as soon as it can, also after it was stopped meanwhile', async () => {
    const [data, file] = [newFolder(), join(newFolder(), 'saved.db')]
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    await put(server, 'b', true)
    // Nobody can put a file there, or take one away.
    const fault = join(data, 'index.db.next')
    mkdirSync(fault)
    const { code, err } = await runFhir('restore', file, '--data', data)
    expect([code, err]).toEqual([1, expect.stringMatching(/^fhir: It is restored, but .*\bindex\.db\.next\b.* tries again .*\n$/)])
    const refused = await fetch(`${server.base}/Patient/a`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await runFhir('backup', join(newFolder(), 'b.db'), '--data', data)).err).toContain('being restored: try again')
    rmSync(fault, { recursive: true })
    await eventually(async () => (await fetch(`${server.base}/Patient/a`)).status, { until: (status) => status !== 503, every: 50 })
    expect((await fetchJson(`${server.base}/Patient?_summary=count`)).total).toBe(1)
    expect(server.err().match(/^fhir: The store .*$/gm)).toEqual([
      expect.stringContaining('cannot be opened'),
      expect.stringContaining('is open again'),
    ])
    await put(server, 'c', true)
    mkdirSync(fault)
    expect((await runFhir('restore', file, '--data', data)).err).toContain('It is restored, but')
    expect(await server.stop()).toBe(0)
    rmSync(fault, { recursive: true })
    const again = await startOpenServer('--data', data)
    expect((await fetchJson(`${again.base}/Patient?_summary=count`)).total).toBe(1)
    await again.stop()
  })

  it('leave nothing beside the backup, and refuse a store that has newer versions in its log', async () => {
    const [data, other, saved] = [newFolder(), newFolder(), newFolder()]
    const file = join(saved, 'saved.db')
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    expect((await runFhir('restore', file, '--data', other)).code).toBe(0)
    expect(readdirSync(saved)).toEqual(['saved.db'])
    await put(server, 'b', true)
    await server.stop('SIGKILL')
    const { code, err } = await runFhir('restore', join(data, 'store.db'), '--data', other)
    expect([code, err]).toEqual([1, expect.stringContaining('save that folder with fhir backup')])
    const still = await startOpenServer('--data', other)
    expect((await fetchJson(`${still.base}/Patient?_summary=count`)).total).toBe(1)
    await still.stop()
    writeFileSync(file, 'Dear diary')
    expect((await runFhir('restore', file, '--data', other)).err).toBe(`fhir: ${file} is not a store of this server\n`)
    expect(readdirSync(other).filter((name) => name.includes('restored'))).toEqual([])
  })

  it('in a folder whose name is too long for the address of a socket', async () => {
    const data = join(newFolder(), 'a'.repeat(60), 'b'.repeat(60))
    const file = join(newFolder(), 'saved.db')
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    await put(server, 'b', true)
    expect((await runFhir('restore', file, '--data', data)).out).toContain('its server goes on with it')
    expect((await fetchJson(`${server.base}/Patient?_summary=count`)).total).toBe(1)
    await server.stop()
  })

  it.each([
    ['a folder', (path: string) => mkdirSync(path)],
    ['no store', (path: string) => writeFileSync(path, 'Dear diary, '.repeat(1_000))],
    ['an empty file', (path: string) => writeFileSync(path, '')],
  ])('refuse, as the server does, %s in the place of what is restored, and touch nothing', async (_, place) => {
    const data = newFolder()
    const server = await startOpenServer('--data', data)
    expect((await put(server, 'a', true)).status).toBe(201)
    await server.stop('SIGKILL')
    const restored = join(data, 'restored.db')
    place(restored)
    const names = ['store.db', 'store.db-wal']
    const before = names.map((name) => readFileSync(join(data, name)))
    for (const args of [
      ['start', '--port', '1'],
      ['backup', join(newFolder(), 'saved.db')],
    ])
      expect(await runFhir(...args, '--data', data)).toMatchObject({
        code: 1,
        err: `fhir: ${restored} is not a store of this server, and is in the place of a backup to restore: move it away\n`,
      })
    expect(names.map((name) => readFileSync(join(data, name)))).toEqual(before)
    rmSync(restored, { recursive: true })
    const again = await startOpenServer('--data', data)
    expect((await fetch(`${again.base}/Patient/a`)).status).toBe(200)
    await again.stop()
  })

  it('leave a process alone whose number a lock of an older server has', async () => {
    const [data, file] = [newFolder(), join(newFolder(), 'saved.db')]
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    await server.stop('SIGKILL')
    const bystander = spawn('sleep', ['60'])
    writeFileSync(join(data, 'lock'), `${bystander.pid}\n`)
    const warned = expect.stringMatching(`^fhir: .*lock names process ${bystander.pid}, which runs: .*\n`)
    expect(await runFhir('backup', file, '--data', data)).toMatchObject({ code: 0, err: warned })
    expect(await runFhir('restore', file, '--data', data)).toMatchObject({ code: 0, err: warned })
    const again = await startOpenServer('--data', data)
    expect((await fetchJson(`${again.base}/Patient?_summary=count`)).total).toBe(1)
    expect(again.err()).toEqual(warned)
    expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null])
    bystander.kill()
    await again.stop()
  })
})

describe('Commands reach the server of a folder', () => {
  const left = new Promise<void>(() => undefined)

  it('which refuses what would be in the way of another, until that is done', async () => {
    const gate = { isOpen: true }
    const { backup, restore } = storeCommands(gate, async () => undefined)
    let leave = (): void => undefined
    await backup('', new Promise((resolve) => (leave = resolve)))
    await backup('', left.then())
    await expect(restore('a', left)).rejects.toThrow('under way')
    leave()
    const commands = storeCommands(gate, async () => undefined)
    await commands.restore('a', left)
    gate.isOpen = false
    await expect(commands.restore('a', left)).rejects.toThrow('under way')
    await expect(commands.backup('', left)).rejects.toThrow('being restored')
    gate.isOpen = true
    await commands.backup('', left)
  })

  it('until it ends, and it learns when they do', async () => {
    const folder = newFolder()
    let hasLeft = false
    const end = await listenForCommands(folder, {
      hold: async (_, left) => void left.then(() => (hasLeft = true)),
      fail: async (argument) => {
        throw new Error(`not ${argument}`)
      },
    })
    const release = await startServerCommand(folder, 'hold', '')
    expect(hasLeft).toBe(false)
    release!()
    await eventually(() => hasLeft)
    await expect(startServerCommand(folder, 'fail', 'that')).rejects.toThrow('not that')
    for (const unheard of ['unheard', 'toString', '__proto__'])
      await expect(startServerCommand(folder, unheard, '')).rejects.toThrow(`does not know the command ${unheard}`)
    const address = readFileSync(join(folder, 'address'), 'utf8')
    const rude = connect(address, () => rude.end('{"half'))
    await new Promise((resolve) => rude.once('close', resolve))
    await end()
    expect(await startServerCommand(folder, 'hold', '')).toBeUndefined()
  })

  it('and nobody where one was killed', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'address'), join(folder, 'socket'))
    mkdirSync(join(folder, 'socket'))
    expect(await startServerCommand(folder, 'backup', '')).toBeUndefined()
  })
})
