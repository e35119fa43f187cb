/** What is secret is typed, or comes through a pipe; never an argument, which other users of the machine see. */
import { createInterface } from 'node:readline'
import { complain } from './output.ts'

/** Asked for twice where it is typed. Error where there is none, or the two differ. */
export async function typedPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) return lineOf(await firstLine())
  const typed = await typedUnseen(`${question}: `)
  if (typed !== (await typedUnseen('Once more: '))) throw new Error('That was another password')
  return typed
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

/** Error where it is interrupted. */
function typedUnseen(question: string): Promise<string> {
  complain(question)
  const { stdin } = process
  stdin.setRawMode(true).setEncoding('utf8').resume()
  let typed: readonly string[] = []
  return new Promise((resolve, reject) => {
    const end = (done: () => void): void => {
      stdin.off('data', take).setRawMode(false).pause()
      complain('\n')
      done()
    }
    const take = (text: string): void => {
      // Who pastes sends many at once; what stands behind the end of the line is for the next question.
      const characters = [...text]
      for (const [at, character] of characters.entries()) {
        if (character === '\r' || character === '\n') {
          const rest = characters.slice(at + 1).join('')
          if (rest !== '') stdin.unshift(rest)
          return end(() => resolve(typed.join('')))
        }
        if (character === INTERRUPT || character === END) return end(() => reject(new Error('Nothing was changed')))
        if (character === ERASE_LINE) typed = []
        else if (character === ERASE || character === BACKSPACE) typed = typed.slice(0, -1)
        else typed = [...typed, character]
      }
    }
    stdin.on('data', take)
  })
}
