/**
 * Connection of a command to the server that uses a data folder. The server listens on a socket that only its user may write to, and stores
 * the address in a file of the folder. Each side sends one line of JSON. The connection stays open as long as the command needs what the
 * server granted.
 */
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { isMissing, replaceDurably } from './durable-file.ts'

/**
 * Handles a command in the server. `left`: resolves when the command has disconnected. Returns the text of the reply, if any. A rejection
 * is sent to the command as the reason.
 */
export type CommandHandler = (argument: string, left: Promise<void>) => Promise<string | undefined> | Promise<void>

type Request = { readonly command: string; readonly argument: string }
/** `refused`: reason why the server rejected the command. `said`: text that the handler returned. */
type Reply = { readonly refused?: string; readonly said?: string }

/** Name of the file with the socket address of the server. */
export const ADDRESS_FILE = 'address'
/**
 * Maximum bytes of the path of a socket. A longer path does not fit into a socket address (104 bytes on macOS, 108 on Linux), so a
 * temporary folder is used.
 */
const LONGEST_NAME = 100

/** Listens for commands on the socket of the folder. Returns a function that stops listening and disconnects all commands. */
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
 * Sends a command to the server of the folder, and keeps the connection open. Returns undefined if no server listens. Throws an Error with
 * the reason if the server rejects the command. The returned function disconnects, which releases what the server granted. The end of this
 * process does so as well.
 */
export async function startServerCommand(folder: string, command: string, argument: string): Promise<(() => void) | undefined> {
  const answered = await exchange(folder, { command, argument })
  return answered && (() => answered.socket.destroy())
}

/**
 * Sends a command to the server of the folder and disconnects. Returns the text of the reply, or undefined if there is none or no server
 * listens. Throws like startServerCommand.
 */
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
  // A killed server process left the socket file. This process holds the lock of the folder, so no server listens on it.
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
    // A killed server process left its address in the file. Nothing listens there, so connecting fails.
    socket.once('error', (error) => (isForbidden(error) ? reject(notHeard(folder, error)) : resolve(undefined)))
  })
}

const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')

const notHeard = (folder: string, error: unknown): Error =>
  new Error(
    `The server of ${folder} cannot be asked (${(error as NodeJS.ErrnoException).code})${isForbidden(error) ? ': only its user may' : ''}`,
  )

/** Returns the first line that the other side sends, or undefined if it disconnects before. */
function firstLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: socket })
    lines.once('line', resolve).once('close', () => resolve(undefined))
  })
}
