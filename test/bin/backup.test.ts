/** `fhir backup` and `fhir restore`, with a running server and without one. */
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

describe('fhir backup and fhir restore', () => {
  it('return a running server to the saved resources, history and searches', async () => {
    const data = newFolder()
    const file = join(newFolder(), 'saved.db')
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    await put(server, 'a', false)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    await put(server, 'a', true)
    await put(server, 'b', true)
    // A restore during a backup is refused. It must also remove its copy, which can be large.
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

  it('report a restored store that the server cannot open; it retries until it can', async () => {
    const [data, file] = [newFolder(), join(newFolder(), 'saved.db')]
    const server = await startOpenServer('--data', data)
    await put(server, 'a', true)
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    await put(server, 'b', true)
    // A folder with this name prevents the server from creating or deleting the file.
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

  it('leave no extra files, and reject a store with newer versions in its log', async () => {
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

  it('work in a folder with a path too long for a socket address', async () => {
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
  ])('refuse, like the server, %s in place of a backup to restore, and change nothing', async (_, place) => {
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

  it('warn of an unrelated process that an outdated lock names, and leave it alone', async () => {
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

describe('Commands to the server of a folder', () => {
  const left = new Promise<void>(() => undefined)

  it('are refused while they conflict with a running one, and accepted afterwards', async () => {
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

  it('are received until the server ends, and it learns when each command ends', async () => {
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

  it('reach no server if it was killed and its socket remains', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'address'), join(folder, 'socket'))
    mkdirSync(join(folder, 'socket'))
    expect(await startServerCommand(folder, 'backup', '')).toBeUndefined()
  })
})
