/** Reads secrets from the terminal or a pipe. Secrets are never arguments, because other users of the machine can see arguments. */
import { createInterface } from 'node:readline'
import { printError } from './output.ts'

/**
 * Returns the password, typed twice at a terminal, or one line from a pipe. Throws if the pipe sends none, the two inputs differ, or the
 * user interrupts.
 */
export async function readPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) return lineOf(await firstLine())
  // One reader in raw mode serves both prompts. Text typed or pasted between them is neither echoed nor lost.
  process.stdin.setRawMode(true).setEncoding('utf8')
  const characters = charactersTyped()
  try {
    const typed = await typedUnseen(`${question}: `, characters)
    if (typed !== (await typedUnseen('Once more: ', characters))) throw new Error('That was another password')
    return typed
  } finally {
    process.stdin.setRawMode(false)
    await characters.return()
  }
}

function lineOf(line: string | undefined): string {
  if (line === undefined || line === '') throw new Error('No password came: type it, or send it through a pipe, as one line')
  return line
}

function firstLine(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin })
    lines.once('line', (line) => {
      resolve(line)
      lines.close()
      process.stdin.destroy()
    })
    lines.once('close', () => resolve(undefined))
  })
}

const [INTERRUPT, END, ERASE, BACKSPACE, ERASE_LINE] = ['\u0003', '\u0004', '\u007f', '\b', '\u0015']

async function* charactersTyped(): AsyncGenerator<string, void> {
  for await (const text of process.stdin) yield* text as string
}

/** Reads one line without echo. Throws if the user interrupts or the input ends. */
async function typedUnseen(question: string, characters: AsyncGenerator<string, void>): Promise<string> {
  printError(question)
  const typed: string[] = []
  for (;;) {
    const { value: character, done } = await characters.next()
    const isEnd = character === '\r' || character === '\n'
    if (done || isEnd || character === INTERRUPT || character === END) {
      printError('\n')
      if (isEnd) return typed.join('')
      throw new Error('Nothing was changed')
    }
    if (character === ERASE_LINE) typed.length = 0
    else if (character === ERASE || character === BACKSPACE) typed.pop()
    else typed.push(character)
  }
}
