/** What this project uses of @lhncbc/ucum-lhc, which has no types of its own. */
declare module '@lhncbc/ucum-lhc' {
  export const UcumLhcUtils: {
    getInstance(): {
      getSpecifiedUnit(code: string, action: 'validate'): { readonly unit: { readonly isArbitrary_?: boolean } | null }
      convertToBaseUnits(
        code: string,
        value: number,
      ): {
        readonly status: 'succeeded' | 'invalid' | 'failed' | 'error'
        readonly magnitude: number | null
        readonly unitToExp: Readonly<Record<string, number>>
        readonly fromUnitIsSpecial: boolean
      }
    }
  }
}
