package mcp

import (
	"bytes"
	pixels "image"
	"image/jpeg"
)

// The bounds of a picture on the card.
const (
	maxPictureWidth = 1280
	maxPictureBytes = 200 << 10
)

// qualities are tried in this order, before a picture becomes smaller.
var qualities = []int{60, 40, 20}

// bounded returns the picture of a frame within the bounds.
func bounded(frame []byte) []byte {
	size, err := jpeg.DecodeConfig(bytes.NewReader(frame))
	if err != nil || size.Width <= maxPictureWidth && len(frame) <= maxPictureBytes {
		return frame // of the browser
	}
	picture, err := jpeg.Decode(bytes.NewReader(frame))
	if err != nil {
		return nil
	}
	for width := min(size.Width, maxPictureWidth); ; width = width * 3 / 4 {
		small := scaled(picture, width)
		for _, quality := range qualities {
			var b bytes.Buffer
			if jpeg.Encode(&b, small, &jpeg.Options{Quality: quality}) != nil {
				return nil
			}
			if b.Len() <= maxPictureBytes {
				return b.Bytes()
			}
		}
	}
}

// scaled returns a picture of that width, each pixel the mean of those that it stands for.
func scaled(from pixels.Image, width int) pixels.Image {
	b := from.Bounds()
	if width >= b.Dx() {
		return from
	}
	height := max(1, b.Dy()*width/b.Dx())
	to := pixels.NewRGBA(pixels.Rect(0, 0, width, height))
	for y := range height {
		y0, y1 := b.Min.Y+y*b.Dy()/height, b.Min.Y+(y+1)*b.Dy()/height
		for x := range width {
			x0, x1 := b.Min.X+x*b.Dx()/width, b.Min.X+(x+1)*b.Dx()/width
			var sum [3]uint32
			for v := y0; v < y1; v++ {
				for u := x0; u < x1; u++ {
					r, g, b, _ := from.At(u, v).RGBA()
					sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
				}
			}
			n := uint32((y1 - y0) * (x1 - x0))
			at := to.PixOffset(x, y)
			for i, s := range sum {
				to.Pix[at+i] = uint8(s / n)
			}
			to.Pix[at+3] = 0xff
		}
	}
	return to
}
