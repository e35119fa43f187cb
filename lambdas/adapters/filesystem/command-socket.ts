/**
 * How a command reaches the server of a data folder: a socket that only its user may write to, whose address stands in a file of the folder.
 * A line of JSON goes each way; the connection stays as long as the command needs what it was granted.
 */
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { isMissing, replaceDurably } from './durable-file.ts'

/** `left`: the command has ended. What it is told, if anything; throws what it is to complain of. */
export type CommandHandler = (argument: string, left: Promise<void>) => Promise<string | undefined> | Promise<void>

type Request = { readonly command: string; readonly argument: string }
/** `refused`: why. `said`: what was asked for. */
type Reply = { readonly refused?: string; readonly said?: string }

/** The file of a folder that says where its server listens. */
export const ADDRESS_FILE = 'address'
/** Bytes: a longer name does not fit into an address (104 on macOS, 108 on Linux). */
const LONGEST_NAME = 100

/** Ends the listening. */
export async function listenForCommands(folder: string, commands: Readonly<Record<string, CommandHandler>>): Promise<() => Promise<void>> {
  const address = newAddress(folder)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    void serve(socket, commands)
  }).unref()
  const end = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
    if (dirname(address) !== resolve(folder) && process.platform !== 'win32') rmSync(dirname(address), { recursive: true, force: true })
  }
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(address, resolve))
    if (process.platform !== 'win32') chmodSync(address, 0o600)
    await replaceDurably(join(folder, ADDRESS_FILE), (file) => file.writeFile(address))
  } catch (error) {
    await end()
    throw error
  }
  return async () => {
    rmSync(join(folder, ADDRESS_FILE), { force: true })
    await end()
  }
}

/**
 * Asks the server of the folder; undefined when none listens. Error: what the server refused it with. What was granted is given back by the
 * function that is returned, and with this process.
 */
export async function startServerCommand(folder: string, command: string, argument: string): Promise<(() => void) | undefined> {
  const answered = await exchange(folder, { command, argument })
  return answered && (() => answered.socket.destroy())
}

/** As startServerCommand, for what the server says. */
export async function queryServer(folder: string, command: string, argument: string): Promise<string | undefined> {
  const answered = await exchange(folder, { command, argument })
  answered?.socket.destroy()
  return answered?.said
}

async function exchange(folder: string, request: Request): Promise<{ readonly socket: Socket; readonly said?: string } | undefined> {
  const socket = await connected(folder)
  if (socket === undefined) return undefined
  socket.write(`${JSON.stringify(request)}\n`)
  const line = await firstLine(socket)
  const { refused, ...reply }: Reply = line === undefined ? { refused: 'The server ended before it answered' } : JSON.parse(line)
  if (refused === undefined) return { socket, ...reply }
  socket.destroy()
  throw new Error(refused)
}

function newAddress(folder: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\fhir-${randomUUID()}`
  const inside = join(resolve(folder), 'socket')
  if (Buffer.byteLength(inside) > LONGEST_NAME) return join(mkdtempSync(join(tmpdir(), 'fhir-')), 'socket')
  // Left by a process that was killed: the folder is locked, so nobody listens.
  rmSync(inside, { force: true })
  return inside
}

async function serve(socket: Socket, commands: Readonly<Record<string, CommandHandler>>): Promise<void> {
  const left = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => socket.destroy())
  const line = await firstLine(socket)
  if (line === undefined) return
  const reply = (what: Reply): void => void (socket.writable && socket.write(`${JSON.stringify(what)}\n`))
  try {
    const { command, argument } = JSON.parse(line) as Request
    if (!Object.hasOwn(commands, command)) throw new Error(`The server does not know the command ${command}`)
    const said = await commands[command]!(argument, left)
    reply(said === undefined ? {} : { said })
  } catch (error) {
    reply({ refused: (error as Error).message })
  }
}

async function connected(folder: string): Promise<Socket | undefined> {
  let address: string
  try {
    address = readFileSync(join(folder, ADDRESS_FILE), 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw notHeard(folder, error)
  }
  return new Promise((resolve, reject) => {
    const socket = connect(address, () => resolve(socket))
    // Nobody listens where one was killed.
    socket.once('error', (error) => (isForbidden(error) ? reject(notHeard(folder, error)) : resolve(undefined)))
  })
}

const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')

const notHeard = (folder: string, error: unknown): Error =>
  new Error(
    `The server of ${folder} cannot be asked (${(error as NodeJS.ErrnoException).code})${isForbidden(error) ? ': only its user may' : ''}`,
  )

/** undefined: the other end left before it said one. */
function firstLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: socket })
    lines.once('line', resolve).once('close', () => resolve(undefined))
  })
}
