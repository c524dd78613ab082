/** A bar of a share, with a mark to compare it with. */

interface BarProps {
  share: number; // 0 to 1
  mark?: number;
  label: string;
}

export function Bar({ share, mark, label }: BarProps) {
  const percent = (value: number) => `${100 * Math.min(Math.max(value, 0), 1)}%`;
  return (
    <svg class="bar" height={14} role="img" aria-label={label}>
      <rect class="bar-floor" width="100%" height={14} />
      <rect class="bar-fill" width={percent(share)} height={14} />
      {mark !== undefined && <line class="bar-mark" x1={percent(mark)} x2={percent(mark)} y1={0} y2={14} />}
    </svg>
  );
}
