import { fileURLToPath } from 'node:url'

/** Path of the program that evaluates expressions of clients. A bundle contains the program as a separate file. */
export const EXPRESSION_PROGRAM: string = fileURLToPath(new URL('./expression-process.ts', import.meta.url))
