import { fileURLToPath } from 'node:url'

/** The path of the program that evaluates expressions of clients. In a bundle it is a file beside it. */
export const EXPRESSION_PROGRAM: string = fileURLToPath(new URL('./expression-process.ts', import.meta.url))
