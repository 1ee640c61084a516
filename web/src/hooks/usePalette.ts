import { type Palette, paletteOf } from '../theme';
import { usePreferences } from './usePreferences';

export const usePalette = (): Palette => paletteOf(usePreferences().dark);
