/** What is secret is typed, or comes through a pipe; never an argument, which other users of the machine see. */
import { createInterface } from 'node:readline'
import { printError } from './output.ts'

/** Asked for twice where it is typed. Error where there is none, or the two differ. */
export async function readPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) return lineOf(await firstLine())
  // From before the first question until after the last answer, whatever is typed or pasted meanwhile.
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

/** Error where it is interrupted. */
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
